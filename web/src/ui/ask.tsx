// The source on one side, what the model writes on the other; how it searches, and a target to force instead.
import { t } from '../i18n'
import { busy, first, modelInfo } from '../state/answers'
import { record } from '../state/derived'
import { set, setText, state } from '../state/store'
import { Menu } from './field'

const kBeams = [1, 2, 3, 4, 5, 6, 8, 10]

function Source() {
  const examples = modelInfo.value?.examples ?? []
  return (
    <section class="box">
      <label class="name" for="source">
        {t('source')}
      </label>
      <textarea
        id="source"
        dir="auto"
        rows={2}
        spellcheck={false}
        value={state.text.value}
        placeholder={t('source.hint')}
        onInput={(event) => setText((event.target as HTMLTextAreaElement).value)}
      />
      {examples.length > 0 && (
        <p class="examples">
          <span class="faint">{t('examples')}</span>
          {examples.slice(0, 4).map((text) => (
            <button type="button" class="chip" dir="auto" lang="" onClick={() => setText(text)}>
              {text}
            </button>
          ))}
        </p>
      )}
    </section>
  )
}

function Candidates() {
  const answer = first.value
  if (!answer || answer.candidates.length < 2) return null
  return (
    <div class="candidates" role="group" aria-label={t('candidate')}>
      {answer.candidates.map((c, i) => (
        <button type="button" aria-pressed={state.rank.value === i + 1} onClick={() => set({ rank: i + 1, row: -1 })}>
          <span class="faint">{i + 1}</span> <bdi lang="">{c.text}</bdi> <span class="faint">{c.score.toFixed(2)}</span>
        </button>
      ))}
    </div>
  )
}

function Output() {
  const answer = first.value
  const text = answer?.candidates[state.rank.value - 1]?.text ?? answer?.text ?? ''
  const status = busy.value ? t('writing') : answer ? t('took', { ms: answer.milliseconds.toFixed(answer.milliseconds < 10 ? 1 : 0) }) : ''
  const logp = answer && !answer.live ? record.value?.log_probability : undefined
  return (
    <section class="box" aria-labelledby="output-name">
      <p class="name">
        <span id="output-name">{t('output')}</span>
        <span class="faint status">
          {logp !== undefined && t('logp', { value: logp.toFixed(2).replace('-', '−').replace('−0.00', '0.00') })}
          {logp !== undefined && ', '}
          {status}
        </span>
      </p>
      <output class={answer?.live ? 'live' : ''} for="source" dir="auto" lang="">
        {text || '\u00a0'}
      </output>
      {record.value?.cut && <p class="note">{t('cut')}</p>}
      {answer && !answer.live && record.value && !record.value.ended && <p class="note">{t('unended')}</p>}
      <Candidates />
      <Search />
    </section>
  )
}

function Target() {
  const forced = state.target.value
  return (
    <details class="force" open={forced !== ''}>
      <summary>{t('force')}</summary>
      <label class="name" for="target">
        {t('force.hint')}
      </label>
      <textarea id="target" dir="auto" rows={2} spellcheck={false} value={forced} onInput={(event) => set({ target: (event.target as HTMLTextAreaElement).value, row: -1 })} />
      {forced !== '' && (
        <button type="button" onClick={() => set({ target: '', row: -1 })}>
          {t('force.clear')}
        </button>
      )}
    </details>
  )
}

function Search() {
  const beam = state.beam.value
  const counts = kBeams.filter((n) => n <= beam)
  return (
    <div class="fields search">
      <Menu label={t('beam')} value={beam} options={kBeams.map((n) => [n, String(n)] as const)} onPick={(n) => set({ beam: n, nbest: Math.min(state.nbest.peek(), n), rank: 1 })} />
      <Menu
        label={t('nbest')}
        value={Math.min(state.nbest.value, beam)}
        options={counts.map((n) => [n, String(n)] as const)}
        onPick={(n) => set({ nbest: n, rank: 1 })}
        disabled={beam === 1}
      />
      <Target />
    </div>
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
