// Makes the requests: for the first answer, streamed where text is written, and for the second. A new request aborts the
// one before it; the old answer stays until the new one arrives.
import { effect, type Signal } from '@preact/signals'
import { attend, classify, getModels, read, stream, translate } from '../api/client'
import type { Input, Options, TranslateAnswer } from '../api/types'
import { PartialRecord } from '../model/partial'
import { readAll } from '../model/record'
import { filledWith, kFormTraits, type Form } from '../model/task'
import { textWithout, wordsOf } from '../model/words'
import {
  busy,
  failure,
  failureOf,
  first,
  form,
  isChanged,
  kNoAnswer,
  modelInfo,
  modelName,
  models,
  opened,
  second,
  secondFailure,
  type Answer,
  type Failure,
} from './answers'
import { keepReply, replyTo, shownReply } from './conversation'
import { mayHaveParts, paragraph, sentence } from './paragraph'
import { picture } from './picture'
import { set, setTurns, setUsualSearch, state, type State } from './store'

const kWait = 150 // ms after the last key
const kAlternatives = 8
const kFound = 5 // answers to a question

async function answerOf(from: TranslateAnswer): Promise<Answer> {
  const { text, candidates, tree, warnings } = from.translations[0]!
  const records = await readAll(candidates.flatMap((c) => c.record ?? []))
  const { model, milliseconds } = from
  return {
    ...kNoAnswer,
    model,
    text,
    candidates,
    record: records[0] ?? null,
    records,
    tree: tree?.nodes ?? [],
    warnings: warnings?.map((w) => w.kind) ?? [],
    milliseconds,
  }
}

// Teacher forcing: the attention of a given target.
async function scoreTarget(input: Input, target: string, options: Options, abort: AbortSignal): Promise<Answer> {
  const began = performance.now()
  // Scoring a target takes no search options; the server refuses options that it does not use.
  const { model = '', alternatives, edits } = options
  const wire = await attend(
    input,
    target,
    { model, alternatives, attention: 'compact', ...(edits && { edits }) },
    abort,
  )
  const record = (await readAll([wire]))[0]!
  const { log_probability } = record
  const candidate = { text: record.target.text, score: log_probability, log_probability, ended: true }
  const milliseconds = performance.now() - began
  return { ...kNoAnswer, model, text: candidate.text, candidates: [candidate], record, records: [record], milliseconds }
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

// Shows the tokens of a streamed answer as they arrive; returns the whole answer.
async function streamed(input: Input, options: Options, abort: AbortSignal): Promise<Answer> {
  let partial: PartialRecord | null = null
  let frame = 0
  const show = (): void => {
    frame = 0
    if (!partial || abort.aborted) return
    // The pictures of the previous answer stay until there is a row to draw.
    const record = partial.record() ?? first.peek()?.record ?? null
    const { model = '' } = options
    first.value = { ...kNoAnswer, model, text: partial.output, record, records: [record], live: true }
  }
  const later = (): void => void (frame ||= requestAnimationFrame(show))
  const answer = await stream(
    input,
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
  return whole
}

// Splits a text of several sentences, once.
async function split(abort: AbortSignal): Promise<void> {
  const source = state.text.peek()
  if (!mayHaveParts(source)) return void (paragraph.value = null)
  const { alternatives: _, attention: __, tree: ___, ...options } = optionsOf(modelName.peek())
  const asked = `${modelName.peek()}\n${JSON.stringify(options)}`
  const known = paragraph.peek()
  if (known?.source === source && known.asked === asked) return
  const { text, parts = [] } = (await translate({ text: source }, { ...options, nbest: 1 }, abort)).translations[0]!
  if (!abort.aborted) paragraph.value = parts.length > 1 ? { asked, source, text, parts } : null
}

async function askText(abort: AbortSignal): Promise<Answer> {
  await split(abort)
  const input = text()
  const target = state.target.peek()
  const options = optionsOf(modelName.peek())
  return target !== '' ? scoreTarget(input, target, options, abort) : streamed(input, options, abort)
}

// The reply to the last turn, or what an earlier reply attended to.
async function askChat(abort: AbortSignal): Promise<Answer> {
  const turns = state.turns.peek()
  const options = optionsOf(modelName.peek())
  const at = shownReply(turns, state.reply.peek())
  if (at === turns.length) {
    const answer = await streamed({ turns }, options, abort)
    if (abort.aborted) return answer
    keepReply([...turns, answer.text], answer)
    setTurns([...turns, answer.text])
    return answer
  }
  const known = replyTo(turns.slice(0, at + 1))
  if (known) return known
  const answer = await scoreTarget({ turns: turns.slice(0, at) }, turns[at]!, options, abort)
  keepReply(turns.slice(0, at + 1), answer)
  return answer
}

// A caption is short: it is not streamed.
const askCaption = async (abort: AbortSignal): Promise<Answer> =>
  answerOf(await translate(imageNow(), optionsOf(modelName.peek()), abort))

export async function classified(text: string, abort: AbortSignal): Promise<Answer> {
  const { classifications, model, milliseconds } = await classify(text, modelName.peek(), 'compact', abort)
  const { label, classes, record } = classifications[0]!
  const records = await readAll(record ? [record] : [])
  return { ...kNoAnswer, model, text: label, classes, record: records[0] ?? null, records, milliseconds }
}

async function askAnswer(abort: AbortSignal): Promise<Answer> {
  const options = { model: modelName.peek(), nbest: kFound, attention: 'compact' } as const
  const { answers, model, milliseconds } = await read(state.text.peek(), state.question.peek(), options, abort)
  const { text, candidates, record } = answers[0]!
  const records = await readAll(record ? [record] : [])
  return { ...kNoAnswer, model, text, found: candidates, record: records[0] ?? null, records, milliseconds }
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

// The text without the words that were removed from it.
async function askWithout(abort: AbortSignal): Promise<Answer> {
  const source = first.peek()?.record?.source
  if (!source) return kNoAnswer
  return classified(textWithout(source.text, wordsOf(source), state.removed.peek()), abort)
}

async function askChanged(abort: AbortSignal): Promise<Answer> {
  const options = optionsOf(state.second.peek() || modelName.peek())
  // A prefix of tokens is exact; text would be tokenised again, perhaps differently.
  if (state.path.peek().length > 0) options.prefix = state.path.peek()
  else if (state.prefix.peek()) options.prefix = state.prefix.peek()
  if (state.next.peek()) options.next = state.next.peek()
  if (state.edits.peek().length > 0) options.edits = state.edits.peek()
  const input = kWays[form.peek()].input()
  const target = state.target.peek()
  return target !== '' && 'text' in input
    ? scoreTarget(input, target, options, abort)
    : answerOf(await translate(input, options, abort))
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
  const info = modelInfo.peek()
  setUsualSearch(info, undefined)
  const empty = state.text.peek() === '' && state.turns.peek().length === 0
  // A conversation begins with what the user says.
  if (empty && !opened.peek() && kFormTraits[form.peek()].hasText) set(filledWith(info?.examples[0]))
}

interface Way {
  ask: (abort: AbortSignal) => Promise<Answer>
  again: ((abort: AbortSignal) => Promise<Answer>) | null // for the second answer
  afterFirst: boolean // the second answer needs the first
  input: () => Input // of a model that writes
  follows: readonly (keyof State)[] // the state that a request depends on
  wait: number // ms after the last change
  isReady: () => boolean
}
const kSearch = ['beam', 'nbest', 'sample', 'temperature', 'top_k', 'top_p', 'seed'] as const
const hasText = (): boolean => state.text.value.trim() !== ''
const text = (): { text: string } => ({ text: sentence.peek() })
const imageNow = (): Input => ({ image: picture.peek()?.url ?? '' })
const kWays: Record<Form, Way> = {
  text: {
    ask: askText,
    again: askChanged,
    afterFirst: false,
    input: text,
    follows: ['text', 'part', 'target', ...kSearch],
    wait: kWait,
    isReady: hasText,
  },
  chat: {
    ask: askChat,
    again: askChanged,
    afterFirst: false,
    input: () => ({ turns: state.turns.peek().slice(0, shownReply(state.turns.peek(), state.reply.peek())) }),
    follows: ['turns', 'reply'],
    wait: 0,
    isReady: () => state.turns.value.length > 0,
  },
  classify: {
    ask: classifiedText,
    again: askWithout,
    afterFirst: true,
    input: text,
    follows: ['text'],
    wait: kWait,
    isReady: hasText,
  },
  answer: {
    ask: askAnswer,
    again: null,
    afterFirst: false,
    input: text,
    wait: kWait,
    follows: ['text', 'question'],
    isReady: () => hasText() && state.question.value.trim() !== '',
  },
  caption: {
    ask: askCaption,
    again: askChanged,
    afterFirst: false,
    input: imageNow,
    follows: [...kSearch],
    wait: 0,
    isReady: () => picture.value !== null,
  },
}
const kChange = ['second', 'prefix', 'path', 'next', 'edits', 'removed'] as const
export const isAsked = (): boolean => kWays[form.value].isReady()
// Reading the state subscribes an effect to it.
const follow = (keys: readonly (keyof State)[]): unknown[] => [modelName.value, ...keys.map((k) => state[k].value)]

async function classifiedText(abort: AbortSignal): Promise<Answer> {
  return classified(state.text.peek(), abort)
}

export function keepAsking(): void {
  const asker = new Asker()
  const other = new Asker()
  let at = 0
  effect(() => {
    const way = kWays[form.value]
    follow(way.follows)
    if (models.value.length === 0) return
    if (opened.value) return asker.stop()
    if (!way.isReady()) {
      asker.ask(0, () => Promise.resolve(void (first.value = null)), failure)
      return
    }
    // The first request of a visit does not wait for typing to end.
    asker.ask(at++ === 0 ? 0 : way.wait, (abort) => shown(abort, way), failure)
  })
  effect(() => {
    const way = kWays[form.value]
    follow(way.follows)
    follow(kChange)
    const { again } = way
    if (models.value.length === 0) return
    const early = way.afterFirst && first.value === null
    if (!again || early || !isChanged.value || !way.isReady()) {
      other.ask(0, () => Promise.resolve(void (second.value = null)), secondFailure)
      return
    }
    other.ask(
      kWait,
      async (abort) => {
        const answer = await again(abort)
        if (!abort.aborted) second.value = answer
      },
      secondFailure,
    )
  })
}

async function shown(abort: AbortSignal, way: Way): Promise<void> {
  busy.value = true
  try {
    const answer = await way.ask(abort)
    if (!abort.aborted) first.value = answer
  } finally {
    if (!abort.aborted) busy.value = false
  }
}
