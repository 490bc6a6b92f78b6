// Groups the words of a grid into phrases: neighbouring rows that attend most to neighbouring columns, and the columns that
// they attend to. A long sentence in phrases has a flow that can be followed.
import { heaviest, type Grid } from './grid'
import { mergeSubwords, type AxisLabels } from './subwords'
import type { Label } from './text'

const kLongest = 6 // words of a phrase
const kPunctuation = /^[\p{P}\p{S}]+$/u
const stands = (label: Label): boolean => label.mark || kPunctuation.test(label.text.trim())

// Merges the labels; `joins(i)` says whether label i belongs to the phrase of label i - 1.
function grouped(labels: readonly Label[], joins: (i: number) => boolean): AxisLabels {
  const axis: AxisLabels = { labels: [], labelOfToken: [] }
  let length = 0
  labels.forEach((label, i) => {
    const last = axis.labels.at(-1)
    if (last && length < kLongest && !stands(label) && !stands(labels[i - 1]!) && joins(i)) {
      last.text += (label.spaceBefore ? ' ' : '') + label.text
      last.unknown ||= label.unknown
      ++length
    } else {
      axis.labels.push({ ...label })
      length = 1
    }
    axis.labelOfToken.push(axis.labels.length - 1)
  })
  return axis
}

export interface Phrases {
  grid: Grid
  ofRow: number[] // the phrase of each row of the grid of words
  ofColumn: number[]
}

export function phrasesOf(grid: Grid): Phrases {
  const most = grid.rows.map((_, r) => heaviest(grid, r))
  const near = (r: number): boolean => Math.abs(most[r]! - most[r - 1]!) <= 1
  const rows = grouped(grid.rows, near)
  // Columns that rows of one phrase attend to belong together; one that no row attends to most belongs to the next.
  const together = new Set<number>()
  most.forEach((column, r) => {
    if (r > 0 && rows.labelOfToken[r] === rows.labelOfToken[r - 1]) together.add(Math.max(column, most[r - 1]!))
  })
  const isMost = new Set(most)
  const columns = grouped(grid.columns, (c) => together.has(c) || !isMost.has(c - 1))
  return {
    ofRow: rows.labelOfToken,
    ofColumn: columns.labelOfToken,
    grid: {
      ...grid,
      rows: rows.labels,
      columns: columns.labels,
      weights: mergeSubwords(grid.weights, rows, columns),
      firstToken: rows.labels.map((_, phrase) => grid.firstToken[rows.labelOfToken.indexOf(phrase)]!),
      columnWord: grid.columnWord.map((word) => columns.labelOfToken[word]!),
      notes: [],
    },
  }
}
