// Pieces into words, by where they stand in the text: columns are summed and rows averaged, so that a row still sums to
// 1. In scripts without spaces every token is a word.
import type { Sentence } from './record'
import { codePoints, type Label } from './text'

export interface Side {
  labels: Label[]
  words: number[] // of each token, which label it belongs to
}

export function sideOf(sentence: Sentence, words: boolean): Side {
  const side: Side = { labels: [], words: [] }
  let wordBegin = 0
  let end = 0
  sentence.tokens.forEach((token, i) => {
    const before = sentence.tokens[i - 1]
    const fresh = !words || !before || token.starts_word || token.mark || before.mark
    if (fresh) {
      side.labels.push({ text: token.text, spaceBefore: i > 0 && token.begin > end, mark: token.mark ?? false })
      wordBegin = token.begin
    } else if (token.end > wordBegin) {
      side.labels[side.labels.length - 1]!.text = codePoints(sentence.text, wordBegin, token.end)
    }
    side.words.push(side.labels.length - 1)
    end = Math.max(end, token.end)
  })
  return side
}

// The side with the mark that a decoder begins with in front, and without its last token.
export function writtenBefore(side: Side): Side {
  if (side.labels.length === 0) return side
  const words = [0, ...side.words.map((w) => w + 1)].slice(0, -1)
  const labels = [{ text: '<s>', spaceBefore: false, mark: true }, ...side.labels]
  return { words, labels: labels.slice(0, Math.max(...words) + 1) }
}

export function mergeWords(weights: Float32Array, rows: Side, columns: Side): Float32Array {
  const width = columns.words.length
  const out = columns.labels.length
  const merged = new Float32Array(rows.labels.length * out).fill(NaN)
  const share = new Float32Array(rows.labels.length)
  for (const word of rows.words) share[word]! += 1
  rows.words.forEach((row, t) => {
    for (let s = 0; s < width; ++s) {
      const weight = weights[t * width + s]!
      if (Number.isNaN(weight)) continue
      const cell = row * out + columns.words[s]!
      merged[cell] = (Number.isNaN(merged[cell]!) ? 0 : merged[cell]!) + weight / share[row]!
    }
  })
  return merged
}
