// Numbers that show where attention went wrong (Rikters & Fishel 2017, "Confidence through attention").
// src/view/diagnostics.cpp computes the same; tests/view/cases/diagnostics.json has the cases of both.
import { at, type Grid } from './grid'

export interface Diagnostics {
  entropy: number // mean entropy of rows as a share of its maximum: 0 for sharp, 1 for uniform rows
  peak: number // mean of each row's largest weight
  coverageDeviation: number // mean over columns of log(1 + (1 - sum)^2)
  absentOut: number // mean entropy of rows, in nats
  absentIn: number // entropies of columns, each divided by its sum; their total over the number of rows
  confidence: number // exp(-(coverageDeviation + absentOut + absentIn)): 1 at best
}

export const kDiagnostics = ['entropy', 'peak', 'coverageDeviation', 'absentOut', 'absentIn', 'confidence'] as const
export const higherIsWorse = (name: keyof Diagnostics): boolean => name !== 'peak' && name !== 'confidence'

const term = (p: number): number => (p > 0 ? -p * Math.log(p) : 0)
const weightAt = (grid: Grid, row: number, column: number): number => at(grid, row, column) || 0 // NaN is 0

export function coverage(grid: Grid): number[] {
  const sums = new Array<number>(grid.columns.length).fill(0)
  for (let t = 0; t < grid.rows.length; ++t) {
    for (let s = 0; s < sums.length; ++s) sums[s]! += weightAt(grid, t, s)
  }
  return sums
}

export function diagnose(grid: Grid): Diagnostics {
  const rows = grid.rows.length
  const columns = grid.columns.length
  const d: Diagnostics = { entropy: 0, peak: 0, coverageDeviation: 0, absentOut: 0, absentIn: 0, confidence: 0 }
  for (let t = 0; t < rows; ++t) {
    let entropy = 0
    let largest = 0
    for (let s = 0; s < columns; ++s) {
      entropy += term(weightAt(grid, t, s))
      largest = Math.max(largest, weightAt(grid, t, s))
    }
    d.absentOut += entropy / rows
    d.peak += largest / rows
  }
  d.entropy = columns > 1 ? d.absentOut / Math.log(columns) : 0
  coverage(grid).forEach((sum, s) => {
    let entropy = 0
    for (let t = 0; sum > 0 && t < rows; ++t) entropy += term(weightAt(grid, t, s) / sum)
    d.coverageDeviation += Math.log1p((1 - sum) ** 2) / columns
    d.absentIn += entropy / rows
  })
  d.confidence = Math.exp(-(d.coverageDeviation + d.absentOut + d.absentIn))
  return d
}
