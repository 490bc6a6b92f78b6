// A text of several sentences: the server splits it and translates every part, and the views show the part that is
// selected, which is asked for again by itself, with everything that can be asked of a sentence.
import { computed, signal } from '@preact/signals'
import type { Part } from '../api/types'
import { modelName, opened, task } from './answers'
import { kUnchanged, set, state } from './store'

export interface Paragraph {
  asked: string // what the parts depend on
  source: string
  text: string // the whole output
  parts: Part[]
}
export const paragraph = signal<Paragraph | null>(null)

// A sentence ends and something follows, or the text is long.
const kSeveral = /[.!?…。！？](?:["'”’）)\]]*\s+\S|[”’）]*(?=[\u3400-\u9fff]))|\n\s*\S/u
const kLong = 400 // characters
export const mayHaveParts = (text: string): boolean =>
  task.peek() === 'sequence' && state.target.peek() === '' && (kSeveral.test(text) || text.length > kLong)

// The paragraph of what is in the source field now.
export const shownParagraph = computed(() => {
  const p = paragraph.value
  return p && !opened.value && p.source === state.text.value && p.asked.startsWith(`${modelName.value}\n`) ? p : null
})
export const partIndex = computed(() => Math.min(state.part.value, shownParagraph.value?.parts.length ?? 1) - 1)

// Characters of a text as [before, within, after] the selected part.
export const aroundPart = computed<[string, string, string]>(() => {
  const part = shownParagraph.value?.parts[partIndex.value]
  const text = state.text.value
  if (!part) return ['', text, '']
  const points = [...text]
  const slice = (begin: number, end?: number): string => points.slice(begin, end).join('')
  return [slice(0, part.begin), slice(part.begin, part.end), slice(part.end)]
})
// What is translated and shown: the text, or the selected sentence of it.
export const sentence = computed(() => aroundPart.value[1])

export const pickPart = (index: number): void => set({ ...kUnchanged, part: index + 1, rank: 1, row: -1 })

// The part of which a UTF-16 unit of the text is.
export function partAt(unit: number): number {
  const at = [...state.text.peek().slice(0, unit)].length
  return shownParagraph.peek()?.parts.findIndex((part) => at >= part.begin && at <= part.end) ?? -1
}

// The output in pieces, each a part or what is between two of them.
export function piecesOf({ text, parts }: Paragraph): { text: string; part: number }[] {
  const pieces: { text: string; part: number }[] = []
  let at = 0
  parts.forEach((part, index) => {
    const begin = Math.max(at, text.indexOf(part.text, at))
    if (begin > at) pieces.push({ text: text.slice(at, begin), part: -1 })
    pieces.push({ text: part.text, part: index })
    at = begin + part.text.length
  })
  return pieces
}
