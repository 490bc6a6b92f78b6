// The source text and the output, the options of the search, and a target to score instead (teacher forcing).
import { t } from '../i18n'
import { busy, first, modelInfo, opened } from '../state/answers'
import { record } from '../state/derived'
import { set, setText, state, type State } from '../state/store'
import { Menu, NumberField } from './field'
import { FileBar } from './open_file'

const kBeams = [1, 2, 3, 4, 5, 6, 8, 10]

// New input closes the file: the model answers again.
function write(text: string): void {
  opened.value = null
  setText(text)
}

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
        onInput={(event) => write((event.target as HTMLTextAreaElement).value)}
      />
      {examples.length > 0 && (
        <p class="examples">
          <span class="faint">{t('examples')}</span>
          {examples.slice(0, 4).map((text) => (
            <button type="button" class="chip" dir="auto" lang="" onClick={() => write(text)}>
              {text}
            </button>
          ))}
        </p>
      )}
    </section>
  )
}

// A log-probability with a true minus sign, and without one before 0.
const logText = (value: number): string => value.toFixed(2).replace('-', '−').replace('−0.00', '0.00')

function Candidates() {
  const answer = first.value
  if (!answer || answer.candidates.length < 2) return null
  return (
    <div class="candidates" role="group" aria-label={t('candidate')}>
      {answer.candidates.map((c, i) => (
        <button type="button" aria-pressed={state.rank.value === i + 1} onClick={() => set({ rank: i + 1, row: -1 })}>
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
  const status = file
    ? t('file.from', { name: file.name })
    : busy.value
      ? t('writing')
      : answer
        ? t('took', { ms: answer.milliseconds.toFixed(answer.milliseconds < 10 ? 1 : 0) })
        : ''
  const logp = answer && !answer.live ? record.value?.log_probability : undefined
  return (
    <section class="box" aria-labelledby="output-name">
      <p class="name">
        <span id="output-name">{t('output')}</span>
        <span class="faint status">
          {[logp === undefined ? '' : t('logp', { value: logText(logp) }), status].filter(Boolean).join(t('comma'))}
        </span>
      </p>
      <output class={answer?.live ? 'live' : ''} for="source" dir="auto" lang="">
        {text || '\u00a0'}
      </output>
      {record.value?.cut && <p class="note">{t('cut')}</p>}
      {answer && !answer.live && record.value && !record.value.ended && <p class="note">{t('unended')}</p>}
      <Candidates />
      {file ? <FileBar file={file} /> : <Search />}
    </section>
  )
}

function Target() {
  const target = state.target.value
  return (
    <details class="force" open={target !== ''}>
      <summary>{t('force')}</summary>
      <label class="name" for="target">
        {t('force.hint')}
      </label>
      <textarea
        id="target"
        dir="auto"
        rows={2}
        spellcheck={false}
        value={target}
        onInput={(event) => set({ target: (event.target as HTMLTextAreaElement).value, row: -1 })}
      />
      {target !== '' && (
        <button type="button" onClick={() => set({ target: '', row: -1 })}>
          {t('force.clear')}
        </button>
      )}
    </details>
  )
}

const numbers = (list: readonly number[]): (readonly [number, string])[] => list.map((n) => [n, String(n)] as const)

// The options of beam search or of sampling.
function Search() {
  const { beam, nbest, sample, temperature, top_k, top_p, seed } = state
  const most = sample.value ? kBeams.at(-1)! : beam.value
  const pickWay = (to: 'search' | 'draw'): void =>
    set({
      sample: to === 'draw',
      nbest: to === 'draw' ? nbest.peek() : Math.min(nbest.peek(), beam.peek()),
      rank: 1,
      row: -1,
    })
  const draw = (change: Partial<State>): void => set({ ...change, rank: 1, row: -1 })
  return (
    <div class="fields search">
      <Menu
        label={t('choose')}
        value={sample.value ? 'draw' : 'search'}
        options={
          [
            ['search', t('choose.search')],
            ['draw', t('choose.draw')],
          ] as const
        }
        onPick={pickWay}
        help={t('choose.help')}
      />
      {!sample.value && (
        <Menu
          label={t('beam')}
          value={beam.value}
          options={kBeams.map((n) => [n, n === 1 ? t('beam.greedy') : String(n)] as const)}
          onPick={(n) => set({ beam: n, nbest: Math.min(nbest.peek(), n), rank: 1 })}
        />
      )}
      <Menu
        label={t('nbest')}
        value={Math.min(nbest.value, most)}
        options={numbers(kBeams.filter((n) => n <= most))}
        onPick={(n) => set({ nbest: n, rank: 1 })}
        disabled={most === 1}
        help={t('nbest.help')}
      />
      {sample.value && (
        <>
          <NumberField
            label={t('temperature')}
            value={temperature.value}
            range={[0.01, 100]}
            step="any"
            onPick={(n) => draw({ temperature: n })}
          />
          <NumberField
            label={t('top_k')}
            value={top_k.value}
            range={[0, 1e6]}
            step={1}
            onPick={(n) => draw({ top_k: n })}
          />
          <NumberField
            label={t('top_p')}
            value={top_p.value}
            range={[0.01, 1]}
            step="any"
            onPick={(n) => draw({ top_p: n })}
          />
          <NumberField
            label={t('seed')}
            value={seed.value}
            range={[0, 2 ** 31]}
            step={1}
            onPick={(n) => draw({ seed: n })}
          />
          <button type="button" onClick={() => draw({ seed: (seed.peek() + 1) % 2 ** 31 })}>
            {t('seed.next')}
          </button>
        </>
      )}
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
