// Counterfactuals: edits of attention weights and of the output prefix that the model decodes with again.
import type { Kind, Sentence } from './record'
import { codePoints } from './text'

// layer and head are counted from 1, null for all; row is counted from 0.
export interface Edit {
  kind: Kind
  layer: number | null
  head: number | null
  row: number | null
  weights: number[] | null
  off?: boolean
}

// The output before token `step`, as tokens.
export const pathBefore = (target: Sentence, step: number): string[] =>
  target.tokens.slice(0, step).map((token) => token.text)

// The output before token `step`, as text. A lone space has an empty range, so the text ends where the token begins, not
// where the token before it ends.
export function prefixBefore(target: Sentence, step: number): string {
  const token = target.tokens[step]
  if (!token || token.mark) return target.text
  return codePoints(target.text, 0, token.begin)
}

const same = (a: Edit, b: Edit): boolean =>
  a.kind === b.kind && a.layer === b.layer && a.head === b.head && a.row === b.row && Boolean(a.off) === Boolean(b.off)

export const isOff = (edits: readonly Edit[], kind: Kind, layer: number, head: number): boolean =>
  edits.some((e) => e.off && e.kind === kind && e.layer === layer && e.head === head)

export function toggleHead(edits: readonly Edit[], kind: Kind, layer: number, head: number): Edit[] {
  const edit: Edit = { kind, layer, head, row: null, weights: null, off: true }
  return edits.some((e) => same(e, edit)) ? edits.filter((e) => !same(e, edit)) : [...edits, edit]
}

export const setRow = (edits: readonly Edit[], edit: Edit): Edit[] => [...edits.filter((e) => !same(e, edit)), edit]

export function normalise(weights: readonly number[]): number[] {
  const sum = weights.reduce((s, w) => s + Math.max(0, w), 0)
  return weights.map((w) => (sum > 0 ? Math.max(0, w) / sum : 1 / weights.length))
}

// Sets one weight and scales the others, so that the row still sums to 1.
export function setWeight(weights: readonly number[], place: number, to: number): number[] {
  const value = Math.min(1, Math.max(0, to))
  const rest = weights.reduce((s, w, i) => (i === place ? s : s + Math.max(0, w)), 0)
  return weights.map((w, i) => {
    if (i === place) return value
    return rest > 0 ? (Math.max(0, w) / rest) * (1 - value) : (1 - value) / Math.max(1, weights.length - 1)
  })
}
