// The attention record (docs/record.md) as the page holds it: weights in flat arrays, one for each head, with NaN where
// a cell is absent. What comes over the wire is checked here, once.

export type Kind = 'cross' | 'encoder-self' | 'decoder-self'

export interface Token {
  text: string
  begin: number
  end: number
  starts_word?: boolean
  mark?: boolean
}

export interface Sentence {
  text: string
  tokens: Token[]
}

export interface Alternative {
  text: string
  log_probability: number
}

export interface Step {
  log_probability: number
  alternatives: Alternative[]
}

// As it is written in JSON.
export interface WireAttention {
  kind: Kind
  mechanism?: string
  scope?: string
  selection?: string
  model?: number | string
  best_head?: unknown
  weights: (number | null)[][][][]
}

export interface WireRecord {
  fovea_record: number
  architecture?: string
  search?: string
  source: Sentence
  target: Sentence
  steps?: Step[]
  score?: number
  log_probability?: number
  ended?: boolean
  cut?: boolean
  attentions: WireAttention[]
}

export interface Attention {
  kind: Kind
  mechanism: string
  hard: boolean
  layers: number
  heads: number
  rows: number
  columns: number
  best: { how: 'one' | 'mean' | 'max' | 'rollout'; layer: number; head: number } | null // 0: all layers or heads
  weights: Float32Array[] // [layer * heads + head], each [rows, columns]
}

export interface AttentionRecord {
  architecture: string
  source: Sentence
  target: Sentence
  steps: Step[]
  log_probability: number
  ended: boolean
  cut: boolean
  attentions: Attention[]
  wire: WireRecord | null // what it was read from, for export
}

export class RecordError extends Error {}

const expect: (holds: boolean, what: string) => asserts holds = (holds, what) => {
  if (!holds) throw new RecordError(`record: expected ${what}`)
}
const isList = (value: unknown): value is unknown[] => Array.isArray(value)

function checkSentence(from: Sentence | undefined, name: string): void {
  const right = isList(from?.tokens) && from.tokens.every((t) => typeof t?.text === 'string' && Number.isInteger(t.begin) && Number.isInteger(t.end))
  expect(typeof from?.text === 'string' && right, `${name} to have a text and tokens with places in it`)
}

// Which tokens its rows and columns stand for.
function sizeOf(kind: Kind, source: Sentence, target: Sentence): [rows: number, columns: number] {
  const [s, t] = [source.tokens.length, target.tokens.length]
  return kind === 'cross' ? [t, s] : kind === 'encoder-self' ? [s, s] : [t, t]
}

function readAttention(from: WireAttention, [rows, columns]: [number, number]): Attention {
  const layers = from.weights.length
  const heads = from.weights[0]?.length ?? 0
  const flat: Float32Array[] = []
  for (const layer of from.weights) {
    expect(isList(layer) && layer.length === heads, `as many heads in each layer (${heads})`)
    for (const head of layer) {
      expect(isList(head) && head.length === rows, `${from.kind} to have ${rows} rows of weights, got ${isList(head) ? head.length : head}`)
      const cells = new Float32Array(rows * columns)
      let at = 0
      for (const row of head) {
        expect(isList(row) && row.length === columns, `rows of ${columns} weights in ${from.kind}, got ${isList(row) ? row.length : row}`)
        for (const weight of row) cells[at++] = weight ?? NaN
      }
      flat.push(cells)
    }
  }
  return {
    kind: from.kind,
    mechanism: from.mechanism ?? '',
    hard: from.selection === 'hard',
    layers,
    heads,
    rows,
    columns,
    best: readBest(from.best_head),
    weights: flat,
  }
}

// {"heads": "mean", "layer", "head"}, from 1, 0 for all; without "heads" one head is meant.
function readBest(from: unknown): Attention['best'] {
  if (!from || typeof from !== 'object' || !('layer' in from) || !('head' in from)) return null
  const how = (['mean', 'max', 'rollout'] as const).find((h) => 'heads' in from && from.heads === h) ?? 'one'
  return { how, layer: Number(from.layer), head: Number(from.head) }
}

export function readRecord(from: WireRecord): AttentionRecord {
  expect(from.fovea_record === 1, `version 1, got ${from.fovea_record}`)
  const { source, target, steps = [] } = from
  checkSentence(source, 'its source')
  checkSentence(target, 'its target')
  expect(isList(from.attentions) && from.attentions.every((a) => isList(a?.weights)), 'attentions with weights')
  expect(isList(steps) && steps.every((s) => typeof s?.log_probability === 'number'), 'steps with log-probabilities')
  return {
    architecture: from.architecture ?? '',
    source,
    target,
    steps: steps.map((s) => ({ ...s, alternatives: s.alternatives ?? [] })),
    log_probability: from.log_probability ?? 0,
    ended: from.ended ?? true,
    cut: from.cut ?? false,
    // Of an ensemble the first model's; the others have the same shape.
    attentions: from.attentions
      .filter((a, i, all) => all.findIndex((b) => b.kind === a.kind) === i && a.weights.length > 0)
      .map((a) => readAttention(a, sizeOf(a.kind, source, target))),
    wire: from,
  }
}
