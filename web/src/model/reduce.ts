// Reduces a record to one matrix: selects an attention, combines its layers and heads, and merges subwords into words if
// asked. The grid states the reduction. src/view/reduce.cpp computes the same; tests/view/cases/reductions.json has the
// cases of both.
import type { Grid, Reduce, StepNote } from './grid'
import { kinds, type Attention, type AttentionRecord, type Axis, type Kind } from './record'
import { mergeSubwords, labelsOf, shiftedRight, type AxisLabels } from './subwords'

export interface ReduceOptions {
  kind: Kind
  how: Reduce
  layer: number // from 1; 0 for all
  head: number // from 1; 0 for all
  words: boolean
}

export const attentionOf = (record: AttentionRecord, kind: Kind): Attention | undefined =>
  record.attentions.find((a) => a.kind === kind)

export function canRollOut(record: AttentionRecord, kind: Kind): boolean {
  const { rows, columns } = kinds[kind]
  if (kind !== 'cross' && rows !== columns && columns !== 'before') return false
  return attentionOf(record, kind === 'cross' ? 'encoder-self' : kind) !== undefined
}

// Half-open ranges of layers and heads, counted from 0.
interface Range {
  layers: [number, number]
  heads: [number, number]
}

function rangeOf(a: Attention, o: ReduceOptions): Range {
  const one = o.how === 'one'
  const layer = Math.min(one ? o.layer || 1 : o.layer, a.layers)
  const head = Math.min(one ? o.head || 1 : 0, a.heads)
  return {
    layers: layer > 0 ? [layer - 1, layer] : [0, a.layers],
    heads: head > 0 ? [head - 1, head] : [0, a.heads],
  }
}

// The mean or the maximum of some heads, [rows, columns]. A cell that is absent in some of them counts as 0 there.
export function combine(a: Attention, range: Range, largest: boolean): Float32Array {
  const count = (range.layers[1] - range.layers[0]) * (range.heads[1] - range.heads[0])
  if (count === 1) return a.weights[range.layers[0] * a.heads + range.heads[0]]!
  const result = new Float32Array(a.rows * a.columns).fill(NaN)
  for (let layer = range.layers[0]; layer < range.layers[1]; ++layer) {
    for (let head = range.heads[0]; head < range.heads[1]; ++head) {
      const from = a.weights[layer * a.heads + head]!
      for (let i = 0; i < from.length; ++i) {
        const weight = from[i]!
        if (Number.isNaN(weight)) continue
        const before = result[i]!
        const known = Number.isNaN(before) ? 0 : before
        result[i] = largest ? Math.max(known, weight) : known + weight
      }
    }
  }
  if (!largest) for (let i = 0; i < result.length; ++i) result[i]! /= count
  return result
}

// The matrix product of a [n,k] and b [k,m]; an absent cell is 0.
function product(a: Float32Array, b: Float32Array, n: number, k: number, m: number): Float32Array {
  const result = new Float32Array(n * m)
  for (let i = 0; i < n; ++i) {
    for (let j = 0; j < k; ++j) {
      const x = a[i * k + j]!
      if (Number.isNaN(x) || x === 0) continue
      for (let l = 0; l < m; ++l) {
        const y = b[j * m + l]!
        if (!Number.isNaN(y)) result[i * m + l]! += x * y
      }
    }
  }
  return result
}

// Abnar & Zuidema 2020: the product over layers of (A + I) / 2, A the mean of the heads.
function rollout(a: Attention): Float32Array {
  let result: Float32Array | null = null
  for (let layer = 0; layer < a.layers; ++layer) {
    const mixed = combine(a, { layers: [layer, layer + 1], heads: [0, a.heads] }, false).slice()
    for (let i = 0; i < a.rows; ++i) {
      for (let j = 0; j < a.columns; ++j) mixed[i * a.columns + j] = mixed[i * a.columns + j]! / 2 + (i === j ? 0.5 : 0)
    }
    result = result ? product(mixed, result, a.rows, a.rows, a.columns) : mixed
  }
  return result!
}

// Gives every row the weights of the step after it, which reads its token. The last token is read by no step.
function shiftToInputStep(weights: Float32Array, columns: number): Float32Array {
  const shifted = weights.slice()
  shifted.set(weights.subarray(columns))
  return shifted
}

function notesOf(record: AttentionRecord, rows: AxisLabels): StepNote[] {
  const notes: StepNote[] = rows.labels.map(() => ({ probability: 1, alternatives: [] }))
  record.steps.forEach((step, t) => {
    const label = rows.labelOfToken[t]
    if (label === undefined) return
    const note = notes[label]!
    note.probability *= Math.exp(step.log_probability)
    // The alternatives of a word are those at its first token.
    if (t > 0 && rows.labelOfToken[t - 1] === label) return
    note.alternatives = step.alternatives.map((a) => ({ text: a.text, probability: Math.exp(a.log_probability) }))
  })
  return notes
}

export function reduce(record: AttentionRecord, options: ReduceOptions): Grid | null {
  const a = attentionOf(record, options.kind)
  if (!a || a.rows === 0 || a.columns === 0) return null
  const o = { ...options }
  const best = o.how === 'best' && a.best !== null
  const reads = best && a.best!.step === 'input' && a.kind === 'cross'
  if (o.how === 'best') {
    const { how, layer, head } = a.best ?? { ...o, how: 'mean' }
    Object.assign(o, { how, layer, head })
  }
  if (o.how === 'rollout' && !canRollOut(record, o.kind)) o.how = 'mean'
  const range = rangeOf(a, o)
  let weights: Float32Array
  let through = 0
  if (o.how === 'rollout') {
    const rolled = attentionOf(record, o.kind === 'cross' ? 'encoder-self' : o.kind)!
    through = rolled.layers
    weights =
      o.kind === 'cross'
        ? product(combine(a, range, false), rollout(rolled), a.rows, a.columns, rolled.columns)
        : rollout(a)
  } else {
    weights = combine(a, range, o.how === 'max')
  }
  if (reads) weights = shiftToInputStep(weights, a.columns)
  const single = range.layers[1] - range.layers[0] === 1
  return withLabels(record, a, o, {
    weights,
    through,
    best,
    reads,
    layer: single ? range.layers[0] + 1 : 0,
    head: range.heads[1] - range.heads[0] === 1 ? range.heads[0] + 1 : 0,
    layers: range.layers[1] - range.layers[0],
    heads: range.heads[1] - range.heads[0],
  })
}

interface Reduced {
  weights: Float32Array
  through: number
  best: boolean
  reads: boolean
  layer: number
  head: number
  layers: number
  heads: number
}

const namedRows = (names: readonly string[]): AxisLabels => ({
  labels: names.map((text) => ({ text, spaceBefore: true, mark: false })),
  labelOfToken: names.map((_, i) => i),
})

// Adds names, labels and notes to weights between tokens, and merges them into words if asked.
function withLabels(record: AttentionRecord, a: Attention, o: ReduceOptions, r: Reduced): Grid {
  const source = labelsOf(record.source, o.words)
  const target = labelsOf(record.target, o.words)
  const labels = (axis: Axis): AxisLabels =>
    axis === 'source' ? source : axis === 'target' ? target : shiftedRight(target)
  const axes = kinds[a.kind]
  const named = a.rowLabels.length > 0
  const rows = named ? namedRows(a.rowLabels) : labels(axes.rows)
  const columns = labels(axes.columns)
  const { weights, ...what } = r
  return {
    reduction: { kind: a.kind, how: o.how, words: o.words, ...what },
    rowSide: axes.rows,
    columnSide: axes.columns,
    rows: rows.labels,
    columns: columns.labels,
    weights: o.words ? mergeSubwords(weights, rows, columns) : weights,
    firstToken: rows.labels.map((_, label) => rows.labelOfToken.indexOf(label)),
    columnWord: columns.labelOfToken,
    notes: named || axes.rows !== 'target' || record.steps.length === 0 ? [] : notesOf(record, rows),
    hard: a.hard,
  }
}

// One grid for every head of every layer, layer by layer.
export function everyHead(record: AttentionRecord, kind: Kind, words: boolean): Grid[] {
  const a = attentionOf(record, kind)
  const grids: Grid[] = []
  for (let layer = 1; a && layer <= a.layers; ++layer) {
    for (let head = 1; head <= a.heads; ++head) {
      const grid = reduce(record, { kind, how: 'one', layer, head, words })
      if (grid) grids.push(grid)
    }
  }
  return grids
}
