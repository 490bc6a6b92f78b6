// The state of the page, one signal for each value. `state` is complete and is written to the address; `hovered` is the
// position of the pointer or the focus, which all views share and highlight together.
import { batch, signal, type Signal } from '@preact/signals'
import type { ModelInfo } from '../api/types'
import type { Reduce } from '../model/grid'
import type { Kind } from '../model/record'
import type { Edit } from '../model/whatif'

export const kViews = ['heatmap', 'flow', 'heads', 'steps', 'tree', 'compare', 'diagnostics', 'pictures'] as const
export type View = (typeof kViews)[number]
export type Scale = 'linear' | 'sqrt' | 'log'
export type Palette = 'blues' | 'greys'

export interface State {
  text: string // the source, the text to classify, or the passage
  question: string
  turns: string[] // of a conversation: the user's and the model's in turn
  reply: number // the turn whose attention is shown; -1 for the latest
  removed: number[] // words that a classifier does not get to read
  model: string // '' for the first model of the server
  beam: number
  nbest: number
  sample: boolean // sampling, with the options below; else beam search
  temperature: number
  top_k: number // 0 for all
  top_p: number
  seed: number
  part: number // of a text of several sentences: the one shown, from 1
  rank: number // of the candidate shown, from 1
  target: string // to be scored (teacher forcing); '' for decoding
  view: View
  kind: Kind
  how: Reduce
  layer: number // from 1; 0 for all
  head: number
  words: boolean
  scale: Scale
  palette: Palette
  normalise: boolean // heat maps: each row relative to its largest weight
  hide: number // flow: the share of each row's attention that is not drawn; -1 for what suits the sentence's length
  phrases: number // flow: 1 by phrases, 0 by words; -1 for what suits the sentence's length
  row: number // the picked row, from 0; -1 for none
  second: string // the model to compare with; '' for the same
  prefix: string // forced prefix of the output, as text
  path: string[] // forced prefix as tokens, which is exact
  next: string // forced token after the prefix
  edits: Edit[]
  tour: number // the page of the tour, from 1; 0 for none
  lang: string // '' for the language of the browser
}

export const kDefaults: Readonly<State> = {
  text: '',
  question: '',
  turns: [],
  reply: -1,
  removed: [],
  model: '',
  beam: 1,
  nbest: 1,
  sample: false,
  temperature: 1,
  top_k: 0,
  top_p: 1,
  seed: 1,
  part: 1,
  rank: 1,
  target: '',
  view: 'heatmap',
  kind: 'cross',
  how: 'best',
  layer: 0,
  head: 0,
  words: false,
  scale: 'linear',
  palette: 'blues',
  normalise: false,
  hide: -1,
  phrases: -1,
  row: -1,
  second: '',
  prefix: '',
  path: [],
  next: '',
  edits: [],
  tour: 0,
  lang: '',
}

export type Signals = { [K in keyof State]: Signal<State[K]> }
export const state = Object.fromEntries(Object.entries(kDefaults).map(([k, v]) => [k, signal(v)])) as unknown as Signals

export function set(change: Partial<State>): void {
  batch(() => {
    for (const [k, v] of Object.entries(change)) (state[k as keyof State] as Signal<unknown>).value = v
  })
}

export interface Place {
  row: number // -1: only a column
  column: number // -1: only a row
}
export const kNowhere: Place = { row: -1, column: -1 }
export const hovered = signal<Place>(kNowhere)
export function hover(row: number, column: number): void {
  const { row: r, column: c } = hovered.peek()
  if (r !== row || c !== column) hovered.value = { row, column }
}

// Edits belong to a sentence and are removed with it, except heads that are switched off.
export const kUnchanged = { prefix: '', path: [], next: '', edits: [], removed: [] } satisfies Partial<State>

export function setText(text: string): void {
  const edits = state.edits.peek()
  const off = edits.filter((e) => e.off)
  set({ ...kUnchanged, text, part: 1, rank: 1, row: -1, edits: off.length === edits.length ? edits : off })
}

export function setTurns(turns: string[]): void {
  set({ ...kUnchanged, turns, reply: -1, rank: 1, row: -1 })
}

export function setModel(model: string): void {
  set({
    ...kUnchanged,
    model,
    turns: [],
    reply: -1,
    part: 1,
    rank: 1,
    row: -1,
    layer: 0,
    head: 0,
    kind: 'cross',
    how: 'best',
  })
}

// Takes the usual search of a model, unless the user has chosen another than that of the model before.
export function setUsualSearch(model: ModelInfo | undefined, before: ModelInfo | undefined): void {
  const [beam, chosen] = [model?.beam ?? 1, before?.beam ?? 1]
  if (beam === chosen || state.sample.peek() || state.beam.peek() !== chosen) return
  // Several titles or captions are worth reading; of a translation the picture is what comes next.
  set({ beam, nbest: model?.task === 'sequence' ? 1 : Math.min(3, beam), rank: 1 })
}

export const clearWhatIf = (): void => set({ ...kUnchanged, second: '' })
