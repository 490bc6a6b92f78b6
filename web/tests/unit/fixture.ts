// Cases that the program's tests read as well, and grids and a record made of them.
import { readFileSync } from 'node:fs'
import type { Grid } from '../../src/model/grid'
import { readRecord, type AttentionRecord, type WireRecord } from '../../src/model/record'

export const readCases = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../../../tests/view/cases/${name}`, import.meta.url), 'utf8')) as T

// Two layers of two heads, three source tokens that are two words, four target tokens that are two words and a mark.
export const kWire: WireRecord = readCases<{ records: Record<string, WireRecord> }>('reductions.json').records[
  'jackets'
]!

export const record = (): AttentionRecord => readRecord(structuredClone(kWire))

// Null is an absent cell.
export function gridOf(weights: (number | null)[][], rows?: string[], columns?: string[]): Grid {
  const label = (text: string) => ({ text, spaceBefore: true, mark: false })
  return {
    reduction: { kind: 'cross', how: 'mean', layer: 1, head: 1, layers: 1, heads: 1, words: false, through: 0 },
    rowSide: 'target',
    columnSide: 'source',
    rows: (rows ?? weights.map((_, i) => `r${i}`)).map(label),
    columns: (columns ?? weights[0]!.map((_, i) => `c${i}`)).map(label),
    weights: Float32Array.from(weights.flat(), (weight) => weight ?? NaN),
    firstToken: weights.map((_, i) => i),
    columnWord: weights[0]!.map((_, i) => i),
    notes: [],
    hard: false,
  }
}
