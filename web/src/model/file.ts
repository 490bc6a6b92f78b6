// Records from a file: what `fovea view --format json` writes (an object a line), what this page saves as JSON or HTML,
// or an answer of the server. A file may come from anybody, so its size and its shape are bounded before it is parsed.
import { TooLarge, textOf } from './inflate'
import { readAll, RecordError, type AttentionRecord, type WireRecord } from './record'

const kMostBytes = 100_000_000 // of text, once it is unpacked
const kMostDepth = 32
const kMostLists = 3_000_000 // lists and objects: each is an object of the browser
const kMostRecords = 10_000

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

// Wherever records stand in it.
function recordsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(recordsIn)
  if (!isObject(value)) return []
  if ('fovea_record' in value) return [value]
  return [
    ...recordsIn(value['record']),
    ...[...listOf(value['translations']), ...listOf(value['candidates'])].flatMap(recordsIn),
  ]
}

// Brackets outside of strings are counted before any value is made of them.
function checkShape(text: string): void {
  let depth = 0
  let lists = 0
  for (let i = 0; i < text.length; ++i) {
    const c = text.charCodeAt(i)
    if (c === 0x22) {
      for (++i; i < text.length && text.charCodeAt(i) !== 0x22; ++i) if (text.charCodeAt(i) === 0x5c) ++i
    } else if (c === 0x5b || c === 0x7b) {
      if (++depth > kMostDepth) throw new RecordError(`expected JSON nested at most ${kMostDepth} levels deep`)
      if (++lists > kMostLists) throw new RecordError(`expected at most ${kMostLists / 1e6} million lists and objects`)
    } else if (c === 0x5d || c === 0x7d) --depth
  }
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
    const values: unknown[] = []
    let number = 0
    for (let at = 0; at < text.length;) {
      const end = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at)
      const line = text.slice(at, end)
      at = end + 1
      ++number
      if (line.trim() === '') continue
      if (values.length >= kMostRecords) throw new RecordError(`expected at most ${kMostRecords} records`)
      values.push(parse(line, `line ${number}: `))
    }
    return values
  }
}

export async function readRecords(content: string): Promise<AttentionRecord[]> {
  const begin = '<script type="application/json" id="record">'
  const at = content.startsWith('<') ? content.indexOf(begin) : -1
  const text = at < 0 ? content : content.slice(at + begin.length, content.indexOf('</script>', at))
  checkShape(text)
  const records = valuesIn(text).flatMap(recordsIn)
  if (records.length === 0) throw new RecordError('expected an attention record, got none')
  if (records.length > kMostRecords)
    throw new RecordError(`expected at most ${kMostRecords} records, got ${records.length}`)
  return readAll(records as WireRecord[])
}

// As text; what is gzipped is unpacked first.
export async function contentOf(file: Blob): Promise<string> {
  try {
    return await textOf(file, kMostBytes)
  } catch (error) {
    if (error instanceof TooLarge)
      throw new RecordError(
        `expected at most ${kMostBytes / 1e6} MB of records${file.size < kMostBytes ? ' once they are unpacked' : ''}, got more; save fewer sentences in a file`,
      )
    throw new RecordError('expected a whole file, got damaged data')
  }
}
