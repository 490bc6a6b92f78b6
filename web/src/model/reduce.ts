// From a record to a matrix to look at: which attention, how its layers and heads become one, pieces or words. The same
// arithmetic as src/view/reduce.cpp. No head is chosen silently: the grid says what was done.
import type { Grid, Reduce, StepNote } from './grid'
import type { Attention, AttentionRecord, Kind } from './record'
import { mergeWords, sideOf, writtenBefore, type Side } from './words'

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
  return attentionOf(record, kind === 'cross' ? 'encoder-self' : kind) !== undefined
}

// Layers and heads from..to, counted from 0.
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

// The mean or largest of some heads, [rows, columns]. Where a cell is absent in some, it counts as 0 there.
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

// a [n,k] times b [k,m]; absent is 0.
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

function notesOf(record: AttentionRecord, rows: Side): StepNote[] {
  const notes: StepNote[] = rows.labels.map(() => ({ probability: 1, alternatives: [] }))
  record.steps.forEach((step, t) => {
    const word = rows.words[t]
    if (word === undefined) return
    const note = notes[word]!
    note.probability *= Math.exp(step.log_probability)
    // Of a word, what else might have begun it.
    if (t > 0 && rows.words[t - 1] === word) return
    note.alternatives = step.alternatives.map((a) => ({ text: a.text, probability: Math.exp(a.log_probability) }))
  })
  return notes
}

export function reduce(record: AttentionRecord, options: ReduceOptions): Grid | null {
  const a = attentionOf(record, options.kind)
  if (!a || a.rows === 0 || a.columns === 0) return null
  const o = { ...options }
  const best = o.how === 'best' && a.best !== null
  if (o.how === 'best') Object.assign(o, a.best ?? { how: 'mean' })
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
  const single = range.layers[1] - range.layers[0] === 1
  return finish(record, a, o, {
    weights,
    through,
    best,
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
  layer: number
  head: number
  layers: number
  heads: number
}

// Names, labels, words and notes for weights over tokens.
function finish(record: AttentionRecord, a: Attention, o: ReduceOptions, r: Reduced): Grid {
  const source = sideOf(record.source, o.words)
  const target = sideOf(record.target, o.words)
  const rows = a.kind === 'encoder-self' ? source : target
  const columns = a.kind === 'decoder-self' ? writtenBefore(target) : source
  const { weights, ...what } = r
  return {
    reduction: { kind: a.kind, how: o.how, words: o.words, ...what },
    rowSide: a.kind === 'encoder-self' ? 'source' : 'target',
    columnSide: a.kind === 'decoder-self' ? 'before' : 'source',
    rows: rows.labels,
    columns: columns.labels,
    weights: o.words ? mergeWords(weights, rows, columns) : weights,
    firstToken: rows.labels.map((_, word) => rows.words.indexOf(word)),
    columnWord: columns.words,
    notes: a.kind === 'encoder-self' ? [] : notesOf(record, rows),
    hard: a.hard,
  }
}

// Every head of every layer by itself, layer by layer.
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
