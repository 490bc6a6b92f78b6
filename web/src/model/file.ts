// Records from a file: what `fovea view --format json` writes (an object a line), what this page saves as JSON or HTML,
// or an answer of the server.
import { readRecord, RecordError, type AttentionRecord, type WireRecord } from './record'

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

// Wherever records stand in it.
function recordsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(recordsIn)
  if (!isObject(value)) return []
  if ('fovea_record' in value) return [value]
  return [...recordsIn(value['record']), ...[...listOf(value['translations']), ...listOf(value['candidates'])].flatMap(recordsIn)]
}

function parse(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RecordError(`${place}expected JSON, got “${text.trim().slice(0, 24)}”`)
  }
}

// One value, or one a line.
function valuesIn(text: string): unknown[] {
  try {
    return [JSON.parse(text)]
  } catch {
    const lines = text.split('\n').map((line, i) => [line, i + 1] as const)
    return lines.filter(([line]) => line.trim() !== '').map(([line, number]) => parse(line, `line ${number}: `))
  }
}

export function readRecords(content: string): AttentionRecord[] {
  const within = /<script type="application\/json" id="record">(.*?)<\/script>/s.exec(content)?.[1]
  const records = valuesIn(within ?? content).flatMap(recordsIn)
  if (records.length === 0) throw new RecordError('expected an attention record, got none')
  return records.map((r) => readRecord(r as WireRecord))
}

// As text; what is gzipped is unpacked first.
export async function contentOf(file: Blob): Promise<string> {
  const [a, b] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  if (a !== 0x1f || b !== 0x8b) return file.text()
  return new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).text()
}
