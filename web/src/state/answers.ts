// Requests answers: the first, streamed, for the text that is typed, and the second, of another model or with edits, for
// comparison. A new request aborts the one before it; the old answer stays until the new one arrives. An opened file
// replaces the first answer until new text is typed.
import { batch, computed, effect, signal, type Signal } from '@preact/signals'
import { ApiError, attend, getModels, stream, translate } from '../api/client'
import type { Candidate, ModelInfo, Options, TranslateAnswer } from '../api/types'
import { PartialRecord } from '../model/partial'
import { readAll, RecordError, type AttentionRecord } from '../model/record'
import { readRecords } from '../model/file'
import type { TreeNode } from '../model/tree'
import { kUnchanged, set, state, type State } from './store'

export interface Answer {
  model: string
  text: string
  candidates: Candidate[]
  record: AttentionRecord | null
  records: (AttentionRecord | null)[]
  tree: TreeNode[]
  milliseconds: number
  live: boolean // decoding continues
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

export interface Opened {
  name: string
  records: AttentionRecord[]
}
export const opened = signal<Opened | null>(null)

export const modelName = computed(() => state.model.value || models.value[0]?.name || '')
export const modelInfo = computed(() => models.value.find((m) => m.name === modelName.value))
export const isChanged = computed(
  () =>
    (state.second.value !== '' && (opened.value !== null || state.second.value !== modelName.value)) ||
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

async function answerOf(from: TranslateAnswer): Promise<Answer> {
  const translation = from.translations[0]!
  const records = await readAll(translation.candidates.flatMap((c) => c.record ?? []))
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

function answerOfFile({ name, records }: Opened): Answer {
  return { model: name, text: '', candidates: [], record: records[0]!, records, tree: [], milliseconds: 0, live: false }
}

// Shows a file in every view. Edits are removed, because they belong to the answer before.
export async function open(name: string, content: string): Promise<void> {
  try {
    const file = { name, records: await readRecords(content) }
    batch(() => {
      opened.value = file
      first.value = answerOfFile(file)
      failure.value = null
      set({
        ...kUnchanged,
        text: file.records[0]!.source.text,
        target: '',
        second: '',
        rank: 1,
        row: -1,
        layer: 0,
        head: 0,
        how: 'mean',
      })
    })
  } catch (error) {
    failure.value = {
      ...failureOf(error),
      message: `${name}: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

export function showRecord(rank: number): void {
  set({ rank, row: -1, text: opened.peek()!.records[rank - 1]!.source.text })
}

// Teacher forcing: the attention of a given target.
async function scoreTarget(text: string, target: string, options: Options, abort: AbortSignal): Promise<Answer> {
  const began = performance.now()
  // Scoring a target takes no search options; the server refuses options that it does not use.
  const { model, alternatives, edits } = options
  const wire = await attend(text, target, { model, alternatives, attention: 'compact', ...(edits && { edits }) }, abort)
  const record = (await readAll([wire]))[0]!
  const candidate = {
    text: record.target.text,
    score: record.log_probability,
    log_probability: record.log_probability,
    ended: true,
  }
  const milliseconds = performance.now() - began
  return {
    model: options.model ?? '',
    text: candidate.text,
    candidates: [candidate],
    record,
    records: [record],
    tree: [],
    milliseconds,
    live: false,
  }
}

// Runs one request at a time.
class Asker {
  private timer = 0
  private abort: AbortController | null = null

  stop(): void {
    clearTimeout(this.timer)
    this.abort?.abort()
    busy.value = false
  }

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
      first.value = await scoreTarget(text, state.target.peek(), options, abort)
      return
    }
    let partial: PartialRecord | null = null
    let frame = 0
    const show = (): void => {
      frame = 0
      if (!partial || abort.aborted) return
      // The pictures of the previous answer stay until there is a row to draw.
      const record = partial.record() ?? first.peek()?.record ?? null
      first.value = {
        model: options.model ?? '',
        text: partial.output,
        candidates: [],
        record,
        records: [record],
        tree: [],
        milliseconds: 0,
        live: true,
      }
    }
    const later = (): void => void (frame ||= requestAnimationFrame(show))
    const answer = await stream(
      text,
      options,
      {
        start: (event) => (partial = new PartialRecord(event, modelInfo.peek())),
        token: (event) => (partial?.add(event), later()),
        revise: (event) => (partial?.revise(event), later()),
      },
      abort,
    )
    const whole = await answerOf(answer)
    cancelAnimationFrame(frame)
    partial = null
    if (!abort.aborted) first.value = whole
  } finally {
    if (!abort.aborted) busy.value = false
  }
}

function optionsOf(model: string): Options {
  const options: Options = { model, alternatives: kAlternatives, attention: 'compact' }
  const beam = state.beam.peek()
  const nbest = state.nbest.peek()
  if (state.sample.peek()) {
    const [temperature, top_k, top_p, seed] = [
      state.temperature.peek(),
      state.top_k.peek(),
      state.top_p.peek(),
      state.seed.peek(),
    ]
    return { ...options, sample: true, nbest, temperature, top_k, top_p, seed }
  }
  return { ...options, beam, nbest: Math.min(nbest, beam), ...(beam > 1 && { tree: true }) }
}

async function askSecond(abort: AbortSignal): Promise<void> {
  const options = optionsOf(state.second.peek() || modelName.peek())
  // A prefix of tokens is exact; text would be tokenised again, perhaps differently.
  if (state.path.peek().length > 0) options.prefix = state.path.peek()
  else if (state.prefix.peek()) options.prefix = state.prefix.peek()
  if (state.next.peek()) options.next = state.next.peek()
  if (state.edits.peek().length > 0) options.edits = state.edits.peek()
  const target = state.target.peek()
  const answer =
    target !== ''
      ? await scoreTarget(state.text.peek(), target, options, abort)
      : await answerOf(await translate(state.text.peek(), options, abort))
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
  if (state.text.peek() === '' && !opened.peek()) set({ text: modelInfo.peek()?.examples[0] ?? '' })
}

// The state that a request depends on; reading it subscribes an effect to it.
const kSearch = ['text', 'target', 'beam', 'nbest', 'sample', 'temperature', 'top_k', 'top_p', 'seed'] as const
const kChange = ['second', 'prefix', 'path', 'next', 'edits'] as const
const followed = (keys: readonly (keyof State)[]): unknown[] => [modelName.value, ...keys.map((k) => state[k].value)]

export function keepAsking(): void {
  const asker = new Asker()
  const other = new Asker()
  let at = 0
  effect(() => {
    followed(kSearch)
    if (models.value.length === 0) return
    if (opened.value) return asker.stop()
    if (state.text.value.trim() === '') {
      asker.ask(0, () => Promise.resolve(void (first.value = null)), failure)
      return
    }
    // The first request of a visit does not wait for typing to end.
    asker.ask(at++ === 0 ? 0 : kWait, askFirst, failure)
  })
  effect(() => {
    followed(kSearch)
    followed(kChange)
    if (models.value.length === 0) return
    if (!isChanged.value || state.text.value.trim() === '') {
      other.ask(0, () => Promise.resolve(void (second.value = null)), secondFailure)
      return
    }
    other.ask(kWait, askSecond, secondFailure)
  })
}
