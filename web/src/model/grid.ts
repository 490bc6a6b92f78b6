// One matrix of attention weights, as a view shows it, with the reduction that it comes from.
import type { Axis, Kind, Step } from './record'
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
  layers: number // the number of layers combined
  heads: number
  words: boolean
  through: number // the number of layers of a rollout
  best?: boolean // the reduction with the best measured alignment
  reads?: boolean // rows are those of the steps that read their tokens, not of those that predicted them
}

export type Reduce = 'mean' | 'max' | 'one' | 'rollout' | 'best'

export interface Grid {
  reduction: Reduction
  rowSide: Axis
  columnSide: Axis
  rows: Label[]
  columns: Label[]
  weights: Float32Array // [rows, columns], NaN where a cell is absent
  firstToken: number[] // the first token of each row's label
  columnWord: number[] // the column of each token
  notes: StepNote[] // one for each row, or empty
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

// Cached, because every paint asks for it.
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

// Every row divided by its largest weight, so that rows with spread-out attention are as strong as others. A row without
// attention stays as it is. src/view/reduce.cpp computes the same; tests/view/cases/reductions.json has the cases of both.
export function normaliseRows(grid: Grid): Grid {
  const width = grid.columns.length
  const weights = grid.weights.slice()
  for (let row = 0; row < grid.rows.length; ++row) {
    let most = 0
    for (let c = 0; c < width; ++c) if (weights[row * width + c]! > most) most = weights[row * width + c]!
    if (most > 0) for (let c = 0; c < width; ++c) weights[row * width + c]! /= most
  }
  return { ...grid, weights }
}

// The entropy of a row, in nats.
export function rowEntropy(grid: Grid, row: number): number {
  let sum = 0
  for (let c = 0; c < grid.columns.length; ++c) {
    const weight = at(grid, row, c)
    if (weight > 0) sum -= weight * Math.log(weight)
  }
  return sum
}

// A lower bound of the entropy of a step's distribution over tokens, in nats: the probability that the recorded
// alternatives leave counts as one more token.
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
  if (p > 0 && p < 0.05) return '<0.1%'
  return `${p >= 99.95 ? '100' : p.toFixed(1)}%`
}
