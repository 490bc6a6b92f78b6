// The words of a text with their places, the text without some of them, and the turns of a conversation in its source.
import type { ClassProbability, Sentence, Token } from './record'
import { labelsOf } from './subwords'

export interface Word {
  text: string
  begin: number // in code points
  end: number
  mark: boolean
  spaceBefore: boolean
}

export function wordsOf(sentence: Sentence): Word[] {
  const { labels, labelOfToken } = labelsOf(sentence, true)
  const words = labels.map((label): Word => ({ ...label, begin: Infinity, end: 0 }))
  sentence.tokens.forEach((token, i) => {
    const word = words[labelOfToken[i]!]!
    word.begin = Math.min(word.begin, token.begin)
    word.end = Math.max(word.end, token.end)
  })
  return words
}

// The text without some words, and without the space that they leave behind.
export function textWithout(text: string, words: readonly Word[], removed: readonly number[]): string {
  const points = [...text]
  for (const i of removed) {
    const word = words[i]
    if (!word) continue
    for (let at = word.begin; at < word.end; ++at) points[at] = ''
    if (/\s/.test(points[word.end] ?? '')) points[word.end] = ''
  }
  return points.join('').trim()
}

// How much less likely a label is without each word.
export function lossWithout(label: string, before: number, without: readonly ClassProbability[][]): number[] {
  return without.map((classes) => before - (classes.find((c) => c.label === label)?.probability ?? 0))
}

const kTurn = '<turn>'
const isMark = (token: Token): boolean => /^\s*<[^<>\s]+>$/.test(token.text)

export interface Turn {
  begin: number // tokens of the source, without the speaker's mark
  end: number
}

// A dialogue model reads turns joined by <turn>, each with its speaker's mark first.
export function turnsIn(source: Sentence): Turn[] {
  const turns: Turn[] = []
  const end = source.tokens.findIndex((t) => t.mark)
  const count = end < 0 ? source.tokens.length : end
  let begin = 0
  for (let i = 0; i <= count; ++i) {
    if (i < count && source.tokens[i]!.text.trim() !== kTurn) continue
    while (begin < i && isMark(source.tokens[begin]!)) ++begin
    turns.push({ begin, end: i })
    begin = i + 1
  }
  return turns
}
