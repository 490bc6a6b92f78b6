// Prints what the page weighs and fails when the script of its first paint is over the budget.
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const kMaxScript = 80_000 // bytes, gzipped
const folder = new URL('../dist/assets/', import.meta.url)
const kLater = /^(tour|zh)-/ // loaded when they are needed
let script = 0
for (const name of readdirSync(folder)) {
  const content = readFileSync(new URL(name, folder))
  const zipped = gzipSync(content, { level: 9 }).length
  console.log(`${name.padEnd(28)} ${String(content.length).padStart(8)} B ${String(zipped).padStart(8)} B gzipped`)
  if (!kLater.test(name) && name.endsWith('.js')) script += zipped
}
console.log(`script: ${script} of ${kMaxScript} B`)
if (script > kMaxScript) process.exit(1)
