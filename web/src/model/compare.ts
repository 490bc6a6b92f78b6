// Compares two answers: finds their common rows and columns, and the difference of their weights there.
import { at, type Grid } from './grid'

export type Pairs = [number, number][]

const kMaxCells = 1 << 20

// The longest common subsequence of two sentences; of very long sentences only the common prefix.
export function align(a: readonly string[], b: readonly string[]): Pairs {
  const pairs: Pairs = []
  let i = 0
  let j = 0
  if (a.length * b.length > kMaxCells) {
    while (i < a.length && a[i] === b[i]) pairs.push([i, i++])
    return pairs
  }
  const width = b.length + 1
  const longest = new Uint16Array((a.length + 1) * width)
  for (let x = a.length - 1; x >= 0; --x) {
    for (let y = b.length - 1; y >= 0; --y) {
      longest[x * width + y] =
        a[x] === b[y]
          ? longest[(x + 1) * width + y + 1]! + 1
          : Math.max(longest[(x + 1) * width + y]!, longest[x * width + y + 1]!)
    }
  }
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) pairs.push([i++, j++])
    else if (longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!) ++i
    else ++j
  }
  return pairs
}

export interface Difference {
  grid: Grid // second minus first, over the common rows and columns
  rows: Pairs
  columns: Pairs
  largest: number // absolute difference
  moved: number // the share of a row's attention that moved, on average: half the sum of absolute differences
}

export function difference(first: Grid, second: Grid): Difference | null {
  const texts = (labels: { text: string }[]): string[] => labels.map((l) => l.text)
  const rows = align(texts(first.rows), texts(second.rows))
  const columns = align(texts(first.columns), texts(second.columns))
  if (rows.length === 0 || columns.length === 0) return null
  const weights = new Float32Array(rows.length * columns.length)
  let largest = 0
  let moved = 0
  rows.forEach(([ra, rb], r) => {
    columns.forEach(([ca, cb], c) => {
      const x = at(first, ra, ca)
      const y = at(second, rb, cb)
      const both = Number.isNaN(x) && Number.isNaN(y)
      const change = both ? NaN : (y || 0) - (x || 0)
      weights[r * columns.length + c] = change
      if (both) return
      largest = Math.max(largest, Math.abs(change))
      moved += Math.abs(change) / 2
    })
  })
  const grid: Grid = {
    ...first,
    rows: rows.map(([r]) => first.rows[r]!),
    columns: columns.map(([c]) => first.columns[c]!),
    notes: [],
    firstToken: rows.map(([r]) => first.firstToken[r]!),
    weights,
    hard: false,
  }
  return { grid, rows, columns, largest, moved: moved / rows.length }
}
