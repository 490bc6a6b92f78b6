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
  best: { layer: number; head: number } | null
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

function readAttention(from: WireAttention): Attention {
  const layers = from.weights.length
  const heads = from.weights[0]?.length ?? 0
  const rows = from.weights[0]?.[0]?.length ?? 0
  const columns = from.weights[0]?.[0]?.[0]?.length ?? 0
  const flat: Float32Array[] = []
  for (const layer of from.weights) {
    for (const head of layer) {
      const cells = new Float32Array(rows * columns)
      let at = 0
      for (const row of head) {
        if (row.length !== columns) throw new RecordError(`record: expected rows of ${columns} weights, got ${row.length}`)
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

// [layer, head] or {"layer", "head"}, from 1.
function readBest(from: unknown): Attention['best'] {
  if (Array.isArray(from) && from.length === 2) return { layer: Number(from[0]), head: Number(from[1]) }
  if (from && typeof from === 'object' && 'layer' in from && 'head' in from) {
    return { layer: Number(from.layer), head: Number(from.head) }
  }
  return null
}

export function readRecord(from: WireRecord): AttentionRecord {
  if (from.fovea_record !== 1) throw new RecordError(`record: expected version 1, got ${from.fovea_record}`)
  return {
    architecture: from.architecture ?? '',
    source: from.source,
    target: from.target,
    steps: from.steps ?? [],
    log_probability: from.log_probability ?? 0,
    ended: from.ended ?? true,
    cut: from.cut ?? false,
    // Of an ensemble the first model's; the others have the same shape.
    attentions: from.attentions
      .filter((a, i, all) => all.findIndex((b) => b.kind === a.kind) === i && a.weights.length > 0)
      .map(readAttention),
    wire: from,
  }
}
