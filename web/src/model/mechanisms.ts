// From scores to weights, as the mechanisms of docs/attention.md do it, for the tour: a scope masks positions, a bias is
// added by distance, and a selection turns scores into weights. A masked position is NaN, as in a grid.

export type Selection = 'soft' | 'sparse' | 'hard'

export interface Mechanism {
  temperature: number // scores are divided by it
  selection: Selection
  window: number // positions to each side of `centre` that count; Infinity for all
  centre: number
  slope: number // of ALiBi: what a position costs for each step of distance from `centre`
}

// The Euclidean projection onto the simplex (Martins & Astudillo 2016): subtracts a threshold and cuts at 0.
function sparsemax(scores: readonly number[]): number[] {
  const sorted = scores.filter((s) => !Number.isNaN(s)).sort((a, b) => b - a)
  let sum = 0
  let threshold = 0
  sorted.forEach((score, k) => {
    sum += score
    if (1 + (k + 1) * score > sum) threshold = (sum - 1) / (k + 1)
  })
  return scores.map((s) => (Number.isNaN(s) ? NaN : Math.max(0, s - threshold)))
}

function softmax(scores: readonly number[]): number[] {
  const most = Math.max(...scores.filter((s) => !Number.isNaN(s)))
  const e = scores.map((s) => Math.exp(s - most))
  const sum = e.reduce((total, x) => total + (x || 0), 0)
  return e.map((x) => x / sum)
}

function hardmax(scores: readonly number[]): number[] {
  const best = scores.reduce((b, s, i) => (!Number.isNaN(s) && !(s <= scores[b]!) ? i : b), 0)
  return scores.map((s, i) => (Number.isNaN(s) ? NaN : Number(i === best)))
}

const kSelections = { soft: softmax, sparse: sparsemax, hard: hardmax }

// The scores as the selection gets them.
export function scored(scores: readonly number[], m: Mechanism): number[] {
  return scores.map((s, i) => {
    const distance = Math.abs(i - m.centre)
    return distance > m.window ? NaN : (s - m.slope * distance) / m.temperature
  })
}

export const weighed = (scores: readonly number[], m: Mechanism): number[] =>
  kSelections[m.selection](scored(scores, m))
