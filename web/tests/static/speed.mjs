// npm run speed: how fast the engine of build/web-demo translates, in CPU time of one thread of Node, whose WebAssembly is
// that of Chromium.
import { copyFile, mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { fileURLToPath, pathToFileURL } from 'node:url'

const kDemo = fileURLToPath(new URL('../../../build/web-demo/', import.meta.url))
const kModel = process.argv[2] ?? 'en-zh'
const kRounds = 3
const kSentences = [
  'A man is riding a bicycle in the park.',
  'Two dogs are playing in the snow near a red house.',
  'Where is the station?',
  'I would like a cup of coffee and a piece of cake, please.',
  'The children are singing a song in front of the school.',
  'She has lived in this city for more than ten years.',
  'Could you tell me how to get to the nearest hospital?',
  'A woman in a blue dress is reading a book under a tree.',
  'We are going to visit our grandparents this weekend.',
  'The train leaves at seven o’clock in the morning.',
  'He forgot to bring his umbrella, so he got wet in the rain.',
  'A group of people are standing on a bridge, looking at the river.',
  'My brother wants to learn how to play the guitar.',
  'There is a small restaurant around the corner.',
  'The old man sat on a bench and fed the birds.',
  'It was so cold yesterday that the lake froze.',
]

// What Emscripten asks of a worker.
globalThis.self = { location: { href: pathToFileURL(kDemo).href } }
// Node takes a .js file outside a package for a CommonJS module.
const folder = await mkdtemp(`${tmpdir()}/fovea-`)
await copyFile(`${kDemo}engine/fovea.js`, `${folder}/fovea.mjs`)
const { default: create } = await import(`${folder}/fovea.mjs`)
await rm(folder, { recursive: true })

const cpu = () => process.cpuUsage().user / 1e6
let head = 0
let parts = []
const began = cpu()
const engine = await create({
  wasmBinary: await readFile(`${kDemo}engine/fovea.wasm`),
  onHead: (status) => (head = status),
  onBody: (part) => parts.push(part),
})
engine.FS.mkdirTree(`/${kModel}`)
for (const name of await readdir(`${kDemo}models/${kModel}`))
  engine.FS.writeFile(`/${kModel}/${name}`, await readFile(`${kDemo}models/${kModel}/${name}`))
const error = engine.ccall('fovea_load', 'string', ['string'], [`/${kModel}`])
if (error) throw new Error(error)
const loaded = cpu()

function ask(body) {
  parts = []
  const types = ['string', 'string', 'string']
  engine.ccall('fovea_call', null, types, ['POST', '/v1/translate', JSON.stringify(body)])
  const answer = Buffer.concat(parts).toString()
  if (head !== 200) throw new Error(answer)
  return answer
}
ask({ text: kSentences[0] })
console.log(`load ${(loaded - began).toFixed(2)} s, first sentence ${(cpu() - loaded).toFixed(2)} s of CPU`)

const words = kSentences.join(' ').split(' ').length
for (const [name, options] of [
  ['beam 1', { beam: 1 }],
  ['as the page asks', { attention: 'compact', alternatives: 8, stream: true }],
  ['beam 5', { beam: 5 }],
  ['beam 5, all in one request', { beam: 5, together: true }],
]) {
  const { together, ...asked } = options
  const start = cpu()
  for (let round = 0; round < kRounds; ++round) {
    if (together) ask({ text: kSentences, ...asked })
    else for (const text of kSentences) ask({ text, ...asked })
  }
  console.log(`${name}: ${((kRounds * words) / (cpu() - start)).toFixed(0)} words/s`)
}
