// Asking: the answer to what is typed, streamed; and the second answer, with another model or with something changed by
// hand, that stands beside it. A new question calls the one before it off; the old answer stays until there is a new one.
import { computed, effect, signal, type Signal } from '@preact/signals'
import { ApiError, attend, getModels, stream, translate } from '../api/client'
import type { Candidate, ModelInfo, Options, TranslateAnswer } from '../api/types'
import { PartialRecord } from '../model/partial'
import { readRecord, RecordError, type AttentionRecord } from '../model/record'
import type { TreeNode } from '../model/tree'
import { set, state } from './store'

export interface Answer {
  model: string
  text: string
  candidates: Candidate[]
  record: AttentionRecord | null
  records: (AttentionRecord | null)[]
  tree: TreeNode[]
  milliseconds: number
  live: boolean // still being written
}

export interface Failure {
  code: string
  message: string
}

export const models = signal<ModelInfo[]>([])
export const busy = signal(false)
export const failure = signal<Failure | null>(null)
export const first = signal<Answer | null>(null)
export const second = signal<Answer | null>(null)
export const secondFailure = signal<Failure | null>(null)

export const modelName = computed(() => state.model.value || models.value[0]?.name || '')
export const modelInfo = computed(() => models.value.find((m) => m.name === modelName.value))
export const isChanged = computed(
  () =>
    (state.second.value !== '' && state.second.value !== modelName.value) ||
    state.next.value !== '' ||
    state.prefix.value !== '' ||
    state.edits.value.length > 0,
)

const kWait = 150 // ms after the last key
const kAlternatives = 8

function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) return { code: error.code, message: error.message }
  if (error instanceof RecordError) return { code: 'record', message: error.message }
  return { code: 'internal', message: String(error) }
}

function answerOf(from: TranslateAnswer): Answer {
  const translation = from.translations[0]!
  const records = translation.candidates.map((c) => (c.record ? readRecord(c.record) : null))
  return {
    model: from.model,
    text: translation.text,
    candidates: translation.candidates,
    record: records[0] ?? null,
    records,
    tree: translation.tree?.nodes ?? [],
    milliseconds: from.milliseconds,
    live: false,
  }
}

async function forced(text: string, target: string, options: Options, abort: AbortSignal): Promise<Answer> {
  const began = performance.now()
  // What is forced needs no search: the server refuses what it has no use for.
  const { model, alternatives, edits } = options
  const record = readRecord(await attend(text, target, { model, alternatives, ...(edits && { edits }) }, abort))
  const candidate = { text: record.target.text, score: record.log_probability, log_probability: record.log_probability, ended: true }
  const milliseconds = performance.now() - began
  return { model: options.model ?? '', text: candidate.text, candidates: [candidate], record, records: [record], tree: [], milliseconds, live: false }
}

// Runs one question at a time.
class Asker {
  private timer = 0
  private abort: AbortController | null = null

  ask(wait: number, question: (abort: AbortSignal) => Promise<void>, failed: Signal<Failure | null>): void {
    clearTimeout(this.timer)
    this.abort?.abort()
    this.timer = window.setTimeout(() => {
      const abort = new AbortController()
      this.abort = abort
      question(abort.signal)
        .then(() => (failed.value = null))
        .catch((error: unknown) => {
          if (!abort.signal.aborted) failed.value = failureOf(error)
        })
    }, wait)
  }
}

async function askFirst(abort: AbortSignal): Promise<void> {
  const text = state.text.peek()
  const options = optionsOf(modelName.peek())
  busy.value = true
  try {
    if (state.target.peek() !== '') {
      first.value = await forced(text, state.target.peek(), options, abort)
      return
    }
    let partial: PartialRecord | null = null
    let frame = 0
    const show = (): void => {
      frame = 0
      if (!partial || abort.aborted) return
      // Before there is a row to draw, the pictures of the answer before it stay.
      const record = partial.record() ?? first.peek()?.record ?? null
      first.value = { model: options.model ?? '', text: partial.output, candidates: [], record, records: [record], tree: [], milliseconds: 0, live: true }
    }
    const later = (): void => void (frame ||= requestAnimationFrame(show))
    const answer = await stream(
      text,
      options,
      {
        start: (event) => (partial = new PartialRecord(event, modelInfo.peek())),
        token: (event) => (partial?.add(event), later()),
        revise: (output) => (partial?.revise(output), later()),
      },
      abort,
    )
    cancelAnimationFrame(frame)
    partial = null
    if (!abort.aborted) first.value = answerOf(answer)
  } finally {
    if (!abort.aborted) busy.value = false
  }
}

function optionsOf(model: string): Options {
  const beam = state.beam.peek()
  const options: Options = { model, beam, nbest: Math.min(state.nbest.peek(), beam), alternatives: kAlternatives, attention: true }
  if (beam > 1) options.tree = true
  return options
}

async function askSecond(abort: AbortSignal): Promise<void> {
  const options = optionsOf(state.second.peek() || modelName.peek())
  // Tokens say exactly what had been written; text would be cut into tokens anew.
  if (state.path.peek().length > 0) options.prefix = state.path.peek()
  else if (state.prefix.peek()) options.prefix = state.prefix.peek()
  if (state.next.peek()) options.next = state.next.peek()
  if (state.edits.peek().length > 0) options.edits = state.edits.peek()
  const target = state.target.peek()
  const answer =
    target !== '' ? await forced(state.text.peek(), target, options, abort) : answerOf(await translate(state.text.peek(), options, abort))
  if (!abort.aborted) second.value = answer
}

export async function loadModels(): Promise<void> {
  try {
    models.value = await getModels()
    failure.value = null
  } catch (error) {
    failure.value = failureOf(error)
    return
  }
  if (!models.peek().some((m) => m.name === state.model.peek())) state.model.value = ''
  if (state.text.peek() === '') set({ text: modelInfo.peek()?.examples[0] ?? '' })
}

export function keepAsking(): void {
  const asker = new Asker()
  const other = new Asker()
  let at = 0
  effect(() => {
    const { text, beam, nbest, target } = state
    const question = [text.value, modelName.value, beam.value, nbest.value, target.value]
    if (models.value.length === 0) return
    if (text.value.trim() === '') {
      asker.ask(0, async () => void (first.value = null), failure)
      return
    }
    void question
    // The first question of a visit need not wait for fingers.
    asker.ask(at++ === 0 ? 0 : kWait, askFirst, failure)
  })
  effect(() => {
    const { text, beam, nbest, target, prefix, path, next, edits } = state
    const question = [text.value, modelName.value, beam.value, nbest.value, target.value, prefix.value, path.value, next.value, edits.value, state.second.value]
    void question
    if (models.value.length === 0) return
    if (!isChanged.value || text.value.trim() === '') {
      other.ask(0, async () => void (second.value = null), secondFailure)
      return
    }
    other.ask(kWait, askSecond, secondFailure)
  })
}
