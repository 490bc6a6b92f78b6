// The source text and the output, of a model that writes one text for another.
import { t, type Key } from '../i18n'
import type { Task } from '../model/task'
import { first, modelInfo, opened, task } from '../state/answers'
import { record } from '../state/derived'
import { set, state } from '../state/store'
import { answerStatus } from './answer_status'
import { Examples, write } from './examples'
import { FileBar } from './open_file'
import { Search, Target } from './search'

interface Words {
  source: Key
  hint: Key
  output: Key
  long: boolean // the source is a document
}
const kSentence: Words = { source: 'source', hint: 'source.hint', output: 'output', long: false }
const kWords: Partial<Record<Task, Words>> = {
  summarise: { source: 'summarise.text', hint: 'summarise.hint', output: 'summarise.summary', long: true },
}
const words = (): Words => kWords[task.value] ?? kSentence

function Source() {
  const { source, hint, long } = words()
  return (
    <section class="box">
      <label class="name" for="source">
        {t(source)}
      </label>
      <textarea
        id="source"
        class={long ? 'long' : ''}
        dir="auto"
        rows={2}
        spellcheck={false}
        value={state.text.value}
        placeholder={t(hint)}
        onInput={(event) => write({ text: (event.target as HTMLTextAreaElement).value })}
      />
      <Examples examples={modelInfo.value?.examples ?? []} />
    </section>
  )
}

// A log-probability with a true minus sign, and without one before 0.
const logText = (value: number): string => value.toFixed(2).replace('-', '−').replace('−0.00', '0.00')

export function Candidates({ pick }: { pick: (rank: number) => void }) {
  const answer = first.value
  if (!answer || answer.candidates.length < 2) return null
  return (
    <div class="candidates" role="group" aria-label={t('candidate')}>
      {answer.candidates.map((c, i) => (
        <button type="button" aria-pressed={state.rank.value === i + 1} onClick={() => pick(i + 1)}>
          <span class="faint">{i + 1}</span> <bdi lang="">{c.text}</bdi> <span class="faint">{logText(c.score)}</span>
        </button>
      ))}
    </div>
  )
}

function Output() {
  const answer = first.value
  const file = opened.value
  const text = file ? record.value?.target.text : (answer?.candidates[state.rank.value - 1]?.text ?? answer?.text)
  const status = answerStatus('writing', answer)
  const logp = answer && !answer.live ? record.value?.log_probability : undefined
  return (
    <section class="box" aria-labelledby="output-name">
      <p class="name">
        <span id="output-name">{t(words().output)}</span>
        <span class="faint status">
          {[logp === undefined ? '' : t('logp', { value: logText(logp) }), status].filter(Boolean).join(t('comma'))}
        </span>
      </p>
      <output class={answer?.live ? 'live' : ''} for="source" dir="auto" lang="">
        {text || '\u00a0'}
      </output>
      {record.value?.cut && <p class="note">{t('cut')}</p>}
      {answer && !answer.live && record.value && !record.value.ended && <p class="note">{t('unended')}</p>}
      <Candidates pick={(rank) => set({ rank, row: -1 })} />
      {file ? (
        <FileBar file={file} />
      ) : (
        <Search>
          <Target />
        </Search>
      )}
    </section>
  )
}

export function Ask() {
  return (
    <div class="ask">
      <Source />
      <Output />
    </div>
  )
}
