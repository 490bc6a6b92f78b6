// One matrix to look at: an attention reduced to rows and columns, always with what was done to it.
import type { Kind, Step } from './record'
import { runsRightToLeft, type Label } from './text'

export interface StepNote {
  probability: number
  alternatives: { text: string; probability: number }[]
}

export interface Reduction {
  kind: Kind
  how: Reduce
  layer: number // from 1; 0 for all
  head: number // from 1; 0 for all
  layers: number // how many went in
  heads: number
  words: boolean
  through: number // layers rolled through
  best?: boolean // what aligned words best when that was measured
}

export type Reduce = 'mean' | 'max' | 'one' | 'rollout' | 'best'

export interface Grid {
  reduction: Reduction
  rowSide: 'source' | 'target'
  columnSide: 'source' | 'before' // what had been written before
  rows: Label[]
  columns: Label[]
  weights: Float32Array // [rows, columns], NaN where a cell is absent
  firstToken: number[] // of each row, its first target token: where a step of decoding begins
  columnWord: number[] // of each source token, its column
  notes: StepNote[] // of each row, or none
  hard: boolean
}

export const at = (grid: Grid, row: number, column: number): number => grid.weights[row * grid.columns.length + column]!

export const mirrored = (grid: Grid): boolean => runsRightToLeft(grid.columns)

export function heaviest(grid: Grid, row: number): number {
  let best = -1
  for (let c = 0; c < grid.columns.length; ++c) {
    const weight = at(grid, row, c)
    if (!Number.isNaN(weight) && (best < 0 || weight > at(grid, row, best))) best = c
  }
  return best
}

// Asked at every paint, so remembered.
const absent = new WeakMap<Float32Array, boolean>()
export function hasAbsent(grid: Grid): boolean {
  const { weights } = grid
  let known = absent.get(weights)
  if (known !== undefined) return known
  known = false
  for (let i = 0; i < weights.length && !known; ++i) known = Number.isNaN(weights[i])
  absent.set(weights, known)
  return known
}

// In nats.
export function rowEntropy(grid: Grid, row: number): number {
  let sum = 0
  for (let c = 0; c < grid.columns.length; ++c) {
    const weight = at(grid, row, c)
    if (weight > 0) sum -= weight * Math.log(weight)
  }
  return sum
}

// How undecided the model was between words, in nats, as far as the recorded alternatives tell: what they leave over
// counts as one more word, so this is a lower bound.
export function choiceEntropy(step: Step | undefined): number | null {
  if (!step || step.alternatives.length === 0) return null
  let sum = 0
  let left = 1
  for (const { log_probability: log } of step.alternatives) {
    const p = Math.exp(log)
    left -= p
    if (p > 0) sum -= p * log
  }
  return left > 1e-9 ? sum - left * Math.log(left) : sum
}

export const weightText = (weight: number): string => (Number.isNaN(weight) ? '–' : weight.toFixed(3))
export const percent = (share: number): string => {
  const p = 100 * share
  return `${p >= 99.95 ? '100' : p.toFixed(1)}%`
}
