// Merges subwords into words: columns are summed and rows averaged, so that a row still sums to 1. In scripts without
// spaces every token is a word.
import type { Sentence } from './record'
import { codePoints, type Label } from './text'

// The labels of a grid's rows or columns: one for each token, or one for each word.
export interface AxisLabels {
  labels: Label[]
  labelOfToken: number[] // the label that each token belongs to
}

export function labelsOf(sentence: Sentence, words: boolean): AxisLabels {
  const axis: AxisLabels = { labels: [], labelOfToken: [] }
  let wordBegin = 0
  let end = 0
  sentence.tokens.forEach((token, i) => {
    const before = sentence.tokens[i - 1]
    const startsLabel = !words || !before || token.starts_word !== false || token.mark || before.mark
    if (startsLabel) {
      axis.labels.push({ text: token.text, spaceBefore: i > 0 && token.begin > end, mark: token.mark ?? false })
      wordBegin = token.begin
    } else if (token.end > wordBegin) {
      axis.labels[axis.labels.length - 1]!.text = codePoints(sentence.text, wordBegin, token.end)
    }
    if (token.unknown) axis.labels[axis.labels.length - 1]!.unknown = true
    axis.labelOfToken.push(axis.labels.length - 1)
    end = Math.max(end, token.end)
  })
  return axis
}

// The inputs of the decoder, which are its outputs shifted right: <s>, then every token but the last.
export function shiftedRight(axis: AxisLabels): AxisLabels {
  if (axis.labels.length === 0) return axis
  const labelOfToken = [0, ...axis.labelOfToken.map((label) => label + 1)].slice(0, -1)
  const labels = [{ text: '<s>', spaceBefore: false, mark: true }, ...axis.labels]
  return { labelOfToken, labels: labels.slice(0, Math.max(...labelOfToken) + 1) }
}

// A word is absent from a row where all of its tokens are.
export function mergeSubwords(weights: Float32Array, rows: AxisLabels, columns: AxisLabels): Float32Array {
  const width = columns.labelOfToken.length
  const mergedWidth = columns.labels.length
  const merged = new Float32Array(rows.labels.length * mergedWidth).fill(NaN)
  const tokens = new Float32Array(rows.labels.length) // of each row's word
  for (const word of rows.labelOfToken) tokens[word]! += 1
  rows.labelOfToken.forEach((row, t) => {
    for (let s = 0; s < width; ++s) {
      const weight = weights[t * width + s]!
      if (Number.isNaN(weight)) continue
      const cell = row * mergedWidth + columns.labelOfToken[s]!
      merged[cell] = (Number.isNaN(merged[cell]!) ? 0 : merged[cell]!) + weight / tokens[row]!
    }
  })
  return merged
}
