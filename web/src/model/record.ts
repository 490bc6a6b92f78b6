// The attention record (docs/record.md) as the page stores it: weights in flat arrays, one for each head, with NaN in
// absent cells. Records from the server or a file are checked here, once; all other code may rely on that.
import { packedSize, readRow, unpack } from './compact'
import { TooLarge } from './inflate'

// What the rows or columns of an attention are. The inputs of a decoder are the begin mark and every target token but the
// last. src/attention/record.cpp has the same table.
export type Axis = 'source' | 'target' | 'before'
export const kinds = {
  cross: { rows: 'target', columns: 'source' },
  'encoder-self': { rows: 'source', columns: 'source' },
  'decoder-self': { rows: 'target', columns: 'before' },
  copy: { rows: 'target', columns: 'source' },
  pooling: { rows: 'target', columns: 'source' },
  'passage-to-question': { rows: 'source', columns: 'target' },
  'question-to-passage': { rows: 'target', columns: 'source' },
} as const satisfies Record<string, { rows: Axis; columns: Axis }>
export type Kind = keyof typeof kinds
export const kindNames = Object.keys(kinds) as Kind[]

export interface Token {
  text: string
  begin: number
  end: number
  starts_word?: boolean
  mark?: boolean
  unknown?: boolean // the model's vocabulary does not have it
}

export interface Sentence {
  text: string
  tokens: Token[]
}

// The log-probability of an impossible token is -Infinity, which JSON writes as null.
export interface Alternative {
  text: string
  log_probability: number
}

export interface Step {
  log_probability: number
  alternatives: Alternative[]
}

// The JSON form.
export interface WireAttention {
  kind: Kind
  mechanism?: string
  scope?: string
  selection?: string
  row_labels?: string[] // of rows that are no tokens: the hops of a pooling
  sentinel?: boolean // pictures: the last column is the weight of no place
  model?: number | string
  best_head?: unknown
  weights?: (number | null)[][][][]
  // The compact form has these instead of the weights.
  shape?: number[]
  packed?: string
}

// The output of a classifier, likeliest first.
export interface ClassProbability {
  label: string
  probability: number
}

// The output of reading comprehension: characters [begin, end) of the source, which is the passage.
export interface Answer {
  text: string
  begin: number
  end: number
  probability: number
}

// The picture that was read instead of a source text. Attention has a column for each cell of a grid over it, row by row.
export interface RecordImage {
  name: string
  width: number
  height: number
  rows: number
  columns: number
  data: string // the URI of a JPEG
}

export interface WireRecord {
  fovea_record: number
  task?: string
  line?: number
  rank?: number
  shares?: { rank: number; tokens: number; rows: number } // compact form: the prefix that the candidate of that rank has
  architecture?: string
  search?: string
  source: Sentence
  target: Sentence
  steps?: Step[]
  score?: number
  log_probability?: number
  ended?: boolean
  cut?: boolean
  classes?: ClassProbability[]
  answer?: Answer
  image?: RecordImage
  attentions: WireAttention[]
}

// What aligned words best when it was measured.
export interface Best {
  how: 'one' | 'mean' | 'max' | 'rollout'
  layer: number // from 1; 0 for all
  head: number
  step: 'output' | 'input' // a token's row is that of the step that predicted it, or of the one that reads it
}

export interface Attention {
  kind: Kind
  mechanism: string
  hard: boolean
  layers: number
  heads: number
  rows: number
  columns: number
  rowLabels: string[] // of rows that are no tokens; otherwise empty
  best: Best | null
  weights: Float32Array[] // [layer * heads + head], each [rows, columns]
}

export interface AttentionRecord {
  task: string // empty for text to text
  architecture: string
  source: Sentence // of a picture the names of its cells
  image: RecordImage | null
  target: Sentence
  steps: Step[]
  log_probability: number
  ended: boolean
  cut: boolean
  classes: ClassProbability[]
  answer: Answer | null
  attentions: Attention[]
  wire: WireRecord | null // the JSON it was read from, for export
}

export class RecordError extends Error {}

const kMaxCells = 60_000_000 // in all records of a file or answer: 240 MB as floats
const kRounding = 1e-3

const expect: (holds: boolean, what: string) => asserts holds = (holds, what) => {
  if (!holds) throw new RecordError(`record: expected ${what}`)
}
const isList = (value: unknown): value is unknown[] => Array.isArray(value)
const isCount = (value: unknown, least: number, most: number): value is number =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most
const isLogProbability = (value: unknown): boolean => value === null || (typeof value === 'number' && value < Infinity)
const brief = (value: unknown): string =>
  isList(value) ? `a list of ${value.length}` : (JSON.stringify(value) ?? 'nothing').slice(0, 40)
const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise)

function checkSentence(from: Sentence | undefined, name: string): void {
  expect(typeof from?.text === 'string' && isList(from.tokens), `${name} to have a text and tokens`)
  const { length } = from.text // in UTF-16 units, of which there are at least as many as code points
  for (const t of from.tokens) {
    const right = typeof t?.text === 'string' && isCount(t.begin, 0, length) && isCount(t.end, t.begin, length)
    expect(right, `${name} to have tokens with a text and places in it, got ${brief(t)}`)
  }
}

function readSteps(steps: unknown): Step[] {
  expect(isList(steps), `a list of steps, got ${brief(steps)}`)
  return steps.map((from) => {
    const step = from as Step | null
    const alternatives: unknown = step?.alternatives ?? []
    const right =
      isList(alternatives) &&
      (alternatives as (Alternative | null)[]).every(
        (a) => typeof a?.text === 'string' && isLogProbability(a.log_probability),
      )
    expect(isLogProbability(step?.log_probability) && right, `steps with log-probabilities, got ${brief(from)}`)
    const number = (p: number | null): number => p ?? -Infinity
    return {
      log_probability: number(step!.log_probability),
      alternatives:
        step!.alternatives?.map((a) => ({ text: a.text, log_probability: number(a.log_probability) })) ?? [],
    }
  })
}

interface Size {
  layers: number
  heads: number
  rows: number
  columns: number
}

function readRowLabels(from: WireAttention): string[] {
  const labels: unknown = from.row_labels ?? []
  expect(
    isList(labels) && labels.every((label) => typeof label === 'string'),
    `row labels to be texts, got ${brief(labels)}`,
  )
  return labels
}

const isProbability = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= 1 + kRounding

function readClasses(from: unknown): ClassProbability[] {
  const right =
    isList(from) &&
    (from as (ClassProbability | null)[]).every((c) => typeof c?.label === 'string' && isProbability(c.probability))
  expect(right, `classes with labels and probabilities, got ${brief(from)}`)
  return from as ClassProbability[]
}

function readAnswer(from: unknown, source: Sentence): Answer | null {
  if (from === undefined) return null
  const answer = from as Answer | null
  const { length } = source.text
  const right =
    typeof answer?.text === 'string' &&
    isCount(answer.begin, 0, length) &&
    isCount(answer.end, answer.begin, length) &&
    isProbability(answer.probability)
  expect(right, `an answer with its place in the source, got ${brief(from)}`)
  return answer
}

const kMaxGridSide = 512

function readImage(from: unknown): RecordImage | null {
  if (from === undefined) return null
  const image = from as RecordImage | null
  const right =
    typeof image?.name === 'string' &&
    isCount(image.width, 1, 1_000_000) &&
    isCount(image.height, 1, 1_000_000) &&
    isCount(image.rows, 1, kMaxGridSide) &&
    isCount(image.columns, 1, kMaxGridSide) &&
    typeof image.data === 'string' &&
    image.data.startsWith('data:image/jpeg;base64,')
  expect(right, `an image with its size, its grid and a JPEG, got ${brief(from)}`)
  return image
}

// The cells of a picture as tokens without a text, and the sentinel after them.
function cellsOf({ rows, columns }: RecordImage, sentinel: boolean): Sentence {
  const nameOf = (cell: number): string => `row ${Math.floor(cell / columns) + 1}, column ${(cell % columns) + 1}`
  const names = Array.from({ length: rows * columns }, (_, cell) => nameOf(cell))
  if (sentinel) names.push('no place')
  return { text: '', tokens: names.map((text) => ({ text, begin: 0, end: 0, starts_word: true })) }
}

// Rows and columns follow from the tokens or row labels; the number of layers and heads from the attention itself.
function sizeOf(from: WireAttention, source: Sentence, target: Sentence): Size {
  const [s, t] = [source.tokens.length, target.tokens.length]
  expect(kindNames.includes(from.kind), `an attention of kind ${kindNames.join(', ')}, got ${brief(from.kind)}`)
  const labels = readRowLabels(from)
  const size = (axis: Axis): number => (axis === 'source' ? s : t)
  const rows = labels.length > 0 ? labels.length : size(kinds[from.kind].rows)
  const columns = size(kinds[from.kind].columns)
  const [layers, heads] =
    from.packed !== undefined
      ? isList(from.shape)
        ? from.shape
        : []
      : [from.weights?.length, from.weights?.[0]?.length]
  expect(
    isCount(layers, 1, 10_000) && isCount(heads, 1, 10_000),
    `${from.kind} to have layers and heads, got ${brief(layers)} and ${brief(heads)}`,
  )
  return { layers, heads, rows, columns }
}

// Limits the number of cells before arrays are allocated for them.
class Budget {
  private cells = 0
  take(sizes: readonly Size[]): void {
    for (const { layers, heads, rows, columns } of sizes) this.cells += layers * heads * rows * columns
    expect(this.cells <= kMaxCells, `at most ${kMaxCells / 1e6} million weights, got more`)
  }
}

function readHead(head: unknown, kind: Kind, { rows, columns }: Size): Float32Array {
  expect(
    isList(head) && head.length === rows,
    `${kind} to have ${rows} rows of weights, got ${isList(head) ? head.length : brief(head)}`,
  )
  const cells = new Float32Array(rows * columns)
  let at = 0
  for (const row of head) {
    expect(
      isList(row) && row.length === columns,
      `rows of ${columns} weights in ${kind}, got ${isList(row) ? row.length : brief(row)}`,
    )
    for (const weight of row) {
      const right = weight === null || (typeof weight === 'number' && weight >= -kRounding && weight <= 1 + kRounding)
      expect(right, `weights from 0 to 1 or null in ${kind}, got ${brief(weight)}`)
      cells[at++] = weight ?? NaN
    }
  }
  return cells
}

function readWhole(from: WireAttention, size: Size): Float32Array[] {
  return from.weights!.flatMap((layer) => {
    expect(isList(layer) && layer.length === size.heads, `as many heads in each layer (${size.heads})`)
    return layer.map((head) => readHead(head, from.kind, size))
  })
}

// The first rows are copied from the candidate that shares them; columns that it does not have are absent.
function readPacked(bytes: Uint8Array, size: Size, shared: Attention | undefined, sharedRows: number): Float32Array[] {
  const { layers, heads, rows, columns } = size
  const own = packedSize(rows - sharedRows, columns)
  return Array.from({ length: layers * heads }, (_, head) => {
    const cells = new Float32Array(rows * columns).fill(NaN)
    for (let r = 0; r < sharedRows; ++r) {
      const from = shared!.weights[head]!.subarray(
        r * shared!.columns,
        r * shared!.columns + Math.min(columns, shared!.columns),
      )
      cells.set(from, r * columns)
    }
    for (let r = sharedRows; r < rows; ++r)
      readRow(bytes, head * own + packedSize(r - sharedRows, columns), columns, cells, r * columns)
    return cells
  })
}

// Reads {"heads": "mean", "layer", "head"}, counted from 1, 0 for all; without "heads" it is one head.
function readBest(from: unknown, { layers, heads }: Size): Attention['best'] {
  const best = (from ?? {}) as Record<string, unknown>
  const how = (['mean', 'max', 'rollout'] as const).find((h) => best['heads'] === h) ?? 'one'
  const least = how === 'one' ? 1 : 0
  return isCount(best['layer'], least, layers) && isCount(best['head'], least, heads)
    ? { how, layer: best['layer'], head: best['head'], step: best['step'] === 'input' ? 'input' : 'output' }
    : null
}

interface Read {
  from: WireAttention
  size: Size
  shared: Attention | undefined
  rows: number // the number of shared rows
}

function attentionsOf(
  wire: WireRecord,
  source: Sentence,
  target: Sentence,
  shared: AttentionRecord | undefined,
  budget: Budget,
): Read[] {
  expect(
    isList(wire.attentions) && wire.attentions.every((a) => isList(a?.weights) || typeof a?.packed === 'string'),
    'attentions with weights',
  )
  // Of an ensemble only the attentions of the first model are shown.
  const first = wire.attentions.filter(
    (a, i, all) => all.findIndex((b) => b.kind === a.kind) === i && a.weights?.length !== 0,
  )
  const read = first.map((from): Read => {
    const size = sizeOf(from, source, target)
    const other = shared?.attentions.find((a) => a.kind === from.kind)
    const { rows: across, columns: down } = kinds[from.kind]
    const sameForAll = across === 'source' && down === 'source'
    const rows = !shared ? 0 : sameForAll ? size.rows : wire.shares!.rows
    const fits =
      rows === 0 ||
      (other &&
        isCount(rows, 1, Math.min(size.rows, other.rows)) &&
        other.layers === size.layers &&
        other.heads === size.heads)
    expect(Boolean(fits), `${from.kind} to share rows that the other candidate has`)
    return { from, size, shared: other, rows }
  })
  budget.take(read.map((a) => a.size))
  return read
}

type Sides = Pick<AttentionRecord, 'source' | 'image' | 'target' | 'steps'>

// `packed` has the bytes of every compact attention.
function finish(
  wire: WireRecord,
  read: readonly Read[],
  packed: ReadonlyMap<WireAttention, Uint8Array>,
  sides: Sides,
): AttentionRecord {
  return {
    task: textOr(wire.task, ''),
    architecture: textOr(wire.architecture, ''),
    ...sides,
    log_probability: typeof wire.log_probability === 'number' ? wire.log_probability : 0,
    ended: wire.ended !== false,
    cut: wire.cut === true,
    classes: readClasses(wire.classes ?? []),
    answer: readAnswer(wire.answer, sides.source),
    attentions: read.map(({ from, size, shared, rows }) => ({
      kind: from.kind,
      mechanism: textOr(from.mechanism, ''),
      hard: from.selection === 'hard',
      ...size,
      rowLabels: readRowLabels(from),
      best: readBest(from.best_head, size),
      weights: packed.has(from) ? readPacked(packed.get(from)!, size, shared, rows) : readWhole(from, size),
    })),
    wire,
  }
}

function sidesOf(wire: WireRecord, shared: AttentionRecord | undefined): Sides {
  expect(wire?.fovea_record === 1, `version 1, got ${brief(wire?.fovea_record)}`)
  const image = shared ? shared.image : readImage(wire.image)
  const given = shared?.source ?? wire.source
  checkSentence(given, 'its source')
  const hasSentinel = isList(wire.attentions) && wire.attentions.some((a) => a?.sentinel === true)
  const source = image && !shared ? cellsOf(image, hasSentinel) : given
  checkSentence(wire.target, 'its target')
  const count = shared ? wire.shares!.tokens : 0
  expect(
    count === 0 || isCount(count, 0, Math.min(shared!.target.tokens.length, shared!.steps.length)),
    'to share tokens that the other candidate has',
  )
  const steps = [...(shared?.steps.slice(0, count) ?? []), ...readSteps(wire.steps ?? [])]
  const target = {
    text: wire.target.text,
    tokens: [...(shared?.target.tokens.slice(0, count) ?? []), ...wire.target.tokens],
  }
  return { source, image, target, steps }
}

// Reads a record whose weights are numbers.
export function readRecord(wire: WireRecord): AttentionRecord {
  const sides = sidesOf(wire, undefined)
  const read = attentionsOf(wire, sides.source, sides.target, undefined, new Budget())
  expect(
    read.every(({ from }) => from.packed === undefined),
    'weights as numbers',
  )
  return finish(wire, read, new Map(), sides)
}

async function readCompact(
  wire: WireRecord,
  shared: AttentionRecord | undefined,
  budget: Budget,
): Promise<AttentionRecord> {
  const sides = sidesOf(wire, shared)
  const read = attentionsOf(wire, sides.source, sides.target, shared, budget)
  const packed = new Map<WireAttention, Uint8Array>()
  for (const { from, size, rows } of read) {
    if (from.packed === undefined) continue
    const expected = size.layers * size.heads * packedSize(size.rows - rows, size.columns)
    const bytes = await unpack(from.packed, expected).catch((error: unknown) => {
      throw new RecordError(
        `record: expected ${expected} bytes of ${from.kind}, got ${error instanceof TooLarge ? 'more' : 'damaged data'}`,
      )
    })
    expect(bytes.length === expected, `${expected} bytes of ${from.kind}, got ${bytes.length}`)
    packed.set(from, bytes)
  }
  return finish(wire, read, packed, sides)
}

// Reads records in their order: a compact one may share rows with an earlier candidate for the same line.
export async function readAll(wires: readonly WireRecord[]): Promise<AttentionRecord[]> {
  const known = new Map<string, AttentionRecord>()
  const records: AttentionRecord[] = []
  const budget = new Budget()
  for (const wire of wires) {
    const shares = wire?.shares
    const shared = shares ? known.get(`${wire.line} ${shares.rank}`) : undefined
    expect(!shares || shared !== undefined, 'the candidate that it shares rows with before it')
    const record = await readCompact(wire, shared, budget)
    known.set(`${wire.line} ${wire.rank ?? 1}`, record)
    records.push(record)
  }
  return records
}

// The JSON form of a record, complete and exact, for saving. Weights that were compact have four decimals.
export function wireOf(record: AttentionRecord): WireRecord | null {
  if (!record.wire) return null
  const { shares: _, ...wire } = record.wire
  const attentions = record.attentions.map((a) => {
    const { packed, shape: _, ...from } = wire.attentions.find((b) => b.kind === a.kind)!
    if (packed === undefined) return from
    const number = (w: number): number | null => (Number.isNaN(w) ? null : Math.round(w * 1e4) / 1e4)
    const rows = (cells: Float32Array): (number | null)[][] =>
      Array.from({ length: a.rows }, (_, r) => Array.from(cells.subarray(r * a.columns, (r + 1) * a.columns), number))
    const weights = Array.from({ length: a.layers }, (_, l) =>
      a.weights.slice(l * a.heads, (l + 1) * a.heads).map(rows),
    )
    return { ...from, weights }
  })
  const source = record.image ? { source: { text: '', tokens: [] }, image: record.image } : { source: record.source }
  return { ...wire, ...source, target: record.target, steps: record.steps, attentions }
}
