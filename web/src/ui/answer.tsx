// A passage and a question, and the answers that were found in the passage.
import { t } from '../i18n'
import { percent } from '../model/grid'
import type { Answer as Found } from '../model/record'
import { first, modelInfo, opened } from '../state/answers'
import { record } from '../state/derived'
import { set, state } from '../state/store'
import { answerStatus } from './answer_status'
import { Examples, write } from './examples'
import { FileBar } from './open_file'

// The answers: of a request all that were found, of a record its own.
export function foundNow(): readonly Found[] {
  const answer = record.value?.answer
  if (opened.value) return answer ? [answer] : []
  return first.value?.found ?? []
}

// The answer that is selected.
export function chosenNow(): Found | undefined {
  const found = foundNow()
  return opened.value ? found[0] : found[Math.min(state.rank.value, found.length) - 1]
}

function Input() {
  return (
    <section class="box">
      <label class="name" for="source">
        {t('passage')}
      </label>
      <textarea
        id="source"
        class="long"
        dir="auto"
        spellcheck={false}
        value={state.text.value}
        placeholder={t('passage.hint')}
        onInput={(event) => write({ text: (event.target as HTMLTextAreaElement).value })}
      />
    </section>
  )
}

function Question() {
  const ask = (event: Event): void => {
    opened.value = null
    set({ question: (event.target as HTMLTextAreaElement).value, rank: 1, row: -1 })
  }
  return (
    <>
      <label class="name" for="question">
        {t('question')}
      </label>
      <textarea
        id="question"
        dir="auto"
        rows={1}
        spellcheck={false}
        value={state.question.value}
        placeholder={t('question.hint')}
        onInput={ask}
      />
      <Examples examples={modelInfo.value?.examples ?? []} />
    </>
  )
}

function Result() {
  const answer = first.value
  const file = opened.value
  const found = foundNow()
  const chosen = chosenNow()
  const status = answerStatus('waiting', answer)
  return (
    <>
      <p class="name after">
        <span id="output-name">{t('answer')}</span>
        <span class="faint status">{status}</span>
      </p>
      <output class="label" for="source question" dir="auto" lang="">
        {chosen?.text || '\u00a0'}
        {chosen && <span class="faint"> {percent(chosen.probability)}</span>}
      </output>
      {found.length > 1 && (
        <div class="candidates" role="group" aria-label={t('candidate')}>
          {found.map((one, i) => (
            <button type="button" aria-pressed={one === chosen} onClick={() => set({ rank: i + 1 })}>
              <span class="faint">{i + 1}</span> <bdi lang="">{one.text}</bdi>{' '}
              <span class="faint">{percent(one.probability)}</span>
            </button>
          ))}
        </div>
      )}
      {record.value?.cut && <p class="note">{t('cut')}</p>}
      {file && <FileBar file={file} />}
    </>
  )
}

export function Answer() {
  return (
    <div class="ask">
      <Input />
      <section class="box">
        <Question />
        <Result />
      </section>
    </div>
  )
}
