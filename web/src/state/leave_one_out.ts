// Leave-one-out: the text is classified again without each of its words, and the loss of probability of the label says
// how much the word counted.
import { effect, signal } from '@preact/signals'
import { classify } from '../api/client'
import type { AttentionRecord, ClassProbability } from '../model/record'
import { lossWithout, textWithout, wordsOf } from '../model/words'
import { failureOf, first, modelName, secondFailure } from './answers'

export interface Losses {
  label: string
  of: number[] // of each word; NaN where it was not tried
  done: boolean
}
export const losses = signal<Losses | null>(null)

const kMaxWords = 400
const kMaxTexts = 64 // of a request
const kMaxCharacters = 8000 // of a request

let abort: AbortController | null = null

// The changes belong to one answer.
export function forgetLosses(): void {
  effect(() => {
    void first.value
    abort?.abort()
    losses.value = null
  })
}

// The texts of a request: as many as the limits allow, at least one.
function chunkFrom(texts: readonly string[], begin: number): string[] {
  let characters = 0
  let end = begin
  while (
    end < texts.length &&
    end - begin < kMaxTexts &&
    (end === begin || characters + texts[end]!.length <= kMaxCharacters)
  )
    characters += texts[end++]!.length
  return texts.slice(begin, end)
}

export async function leaveOneOut(record: AttentionRecord, classes: readonly ClassProbability[]): Promise<void> {
  abort?.abort()
  const { signal: aborted } = (abort = new AbortController())
  const words = wordsOf(record.source)
  const places = words.flatMap((word, i) => (word.mark || word.end <= word.begin ? [] : [i])).slice(0, kMaxWords)
  const texts = places.map((i) => textWithout(record.source.text, words, [i]))
  const best = classes[0]!
  const of = words.map(() => NaN)
  losses.value = { label: best.label, of, done: false }
  try {
    for (let at = 0; at < texts.length;) {
      const chunk = chunkFrom(texts, at)
      const answer = await classify(chunk, modelName.peek(), false, aborted)
      const lost = lossWithout(
        best.label,
        best.probability,
        answer.classifications.map((c) => c.classes),
      )
      lost.forEach((loss, k) => (of[places[at + k]!] = loss))
      at += chunk.length
      if (aborted.aborted) return
      losses.value = { label: best.label, of: [...of], done: at >= texts.length }
    }
  } catch (error) {
    if (aborted.aborted) return
    losses.value = null
    secondFailure.value = failureOf(error)
  }
}
