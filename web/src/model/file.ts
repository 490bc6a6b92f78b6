// Reads records from a file: the output of `fovea view --format json` (one object a line), a JSON or HTML file that this
// page saved, or an answer of the server. Files are not trusted: size and nesting are limited before parsing.
import { TooLarge, textOf } from './inflate'
import { readAll, RecordError, type AttentionRecord, type WireRecord } from './record'

const kMaxBytes = 100_000_000 // of unpacked text
const kMaxDepth = 32
const kMaxLists = 3_000_000 // of lists and objects, each of which allocates
const kMaxRecords = 10_000

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

// The lists of results in an answer of the server.
const kLists = ['translations', 'candidates', 'classifications', 'answers'] as const

// Finds the records in a parsed file.
function recordsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(recordsIn)
  if (!isObject(value)) return []
  if ('fovea_record' in value) return [value]
  return [...recordsIn(value['record']), ...kLists.flatMap((name) => listOf(value[name])).flatMap(recordsIn)]
}

// Counts brackets outside of strings, before JSON.parse allocates for them.
function checkShape(text: string): void {
  let depth = 0
  let lists = 0
  for (let i = 0; i < text.length; ++i) {
    const c = text.charCodeAt(i)
    if (c === 0x22) {
      for (++i; i < text.length && text.charCodeAt(i) !== 0x22; ++i) if (text.charCodeAt(i) === 0x5c) ++i
    } else if (c === 0x5b || c === 0x7b) {
      if (++depth > kMaxDepth) throw new RecordError(`expected JSON nested at most ${kMaxDepth} levels deep`)
      if (++lists > kMaxLists) throw new RecordError(`expected at most ${kMaxLists / 1e6} million lists and objects`)
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

// Parses one value, or one value a line.
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
      if (values.length >= kMaxRecords) throw new RecordError(`expected at most ${kMaxRecords} records`)
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
  if (records.length > kMaxRecords)
    throw new RecordError(`expected at most ${kMaxRecords} records, got ${records.length}`)
  return readAll(records as WireRecord[])
}

// The text of a file, which may be gzipped.
export async function contentOf(file: Blob): Promise<string> {
  try {
    return await textOf(file, kMaxBytes)
  } catch (error) {
    if (error instanceof TooLarge)
      throw new RecordError(
        `expected at most ${kMaxBytes / 1e6} MB of records${file.size < kMaxBytes ? ' once they are unpacked' : ''}, got more; save fewer sentences in a file`,
      )
    throw new RecordError('expected a whole file, got damaged data')
  }
}
