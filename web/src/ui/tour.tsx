// The tour: docs/attention.md as pages to play with. Everything is computed here, from scores that were recorded, so that
// it needs no server.
import { useEffect, useState } from 'preact/hooks'
import { t, type Key } from '../i18n'
import { percent } from '../model/grid'
import { weighed, scored, type Mechanism, type Selection } from '../model/mechanisms'
import { set, state } from '../state/store'
import {
  kByLength,
  kProbabilities,
  kScores,
  kSelfScores,
  kSource,
  kTarget,
  type ByLength,
} from '../model/recorded_example'

const kPace = 1800 // ms for each of the seven steps
const kSteps = 7

const kPlain: Mechanism = { temperature: 1, selection: 'soft', window: Infinity, centre: 0, slope: 0 }

interface SlideProps {
  name: string
  value: number
  range: readonly [number, number]
  step: number
  says?: string
  onSlide: (to: number) => void
}

function Slide({ name, value, range, step, says, onSlide }: SlideProps) {
  return (
    <label class="field wide">
      <span>
        {name}: <output class="value">{says ?? value}</output>
      </span>
      <input
        type="range"
        min={range[0]}
        max={range[1]}
        step={step}
        value={value}
        onInput={(event) => onSlide(Number((event.target as HTMLInputElement).value))}
      />
    </label>
  )
}

interface ChoiceProps<T extends string> {
  name: string
  options: readonly (readonly [T, string])[]
  value: T
  onPick: (to: T) => void
}

function Choice<T extends string>({ name, options, value, onPick }: ChoiceProps<T>) {
  return (
    <div class="choice" role="group" aria-label={name}>
      <span class="faint">{name}</span>
      {options.map(([key, label]) => (
        <button type="button" lang="" aria-pressed={key === value} onClick={() => onPick(key)}>
          {label}
        </button>
      ))}
    </div>
  )
}

function WordChoice({ row, setRow }: { row: number; setRow: (to: number) => void }) {
  const options = kTarget.map((word, i) => [String(i), word] as const)
  return <Choice name={t('tour.word')} options={options} value={String(row)} onPick={(i) => setRow(Number(i))} />
}

interface WeighedProps {
  words: readonly string[]
  scores: readonly number[] // as the selection gets them; NaN where a position is masked
  weights: readonly number[]
  hasScores?: boolean
  hasWeights?: boolean
}

// Words with their scores and weights.
function Weighed({ words, scores, weights, hasScores = true, hasWeights = true }: WeighedProps) {
  return (
    <table class="weighed">
      <thead>
        <tr>
          <td />
          <th scope="col">{t('tour.score')}</th>
          <th scope="col">{t('tour.weight')}</th>
        </tr>
      </thead>
      <tbody>
        {words.map((word, i) => {
          const isMasked = Number.isNaN(weights[i])
          return (
            <tr class={isMasked ? 'out' : ''}>
              <th scope="row" lang="">
                {word}
              </th>
              <td>{!hasScores ? '' : isMasked ? '−∞' : scores[i]!.toFixed(2).replace('-', '−')}</td>
              <td>
                {hasWeights && (
                  <span class="amount">
                    <span class="bar">
                      <span style={{ width: `${isMasked ? 0 : 100 * weights[i]!}%` }} />
                    </span>
                    {isMasked ? t('tour.masked') : percent(weights[i]!)}
                  </span>
                )}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

const weighedBy = (scores: readonly number[], m: Mechanism) => ({
  scores: scored(scores, m),
  weights: weighed(scores, m),
})

function SevenSteps() {
  const [row, setRow] = useState(1)
  const [step, setStep] = useState(1)
  const [playing, setPlaying] = useState(false)
  useEffect(() => {
    if (!playing) return
    const timer = setTimeout(() => (step === kSteps ? setPlaying(false) : setStep(step + 1)), kPace)
    return () => clearTimeout(timer)
  }, [playing, step])
  const go = (to: number): void => (setPlaying(false), setStep(to))
  const play = (): void => {
    if (!playing && step === kSteps) setStep(1)
    setPlaying(!playing)
  }
  const says = t(`tour.step${step as 1}`, { word: kTarget[row]!, p: percent(kProbabilities[row]!) })
  return (
    <>
      <WordChoice row={row} setRow={setRow} />
      <div class="player" role="group" aria-label={t('tour.steps')}>
        <button type="button" aria-label={t('back')} disabled={step === 1} onClick={() => go(step - 1)}>
          ‹
        </button>
        <button type="button" class="play" onClick={play}>
          {playing ? t('pause') : t('play')}
        </button>
        <button type="button" aria-label={t('forward')} disabled={step === kSteps} onClick={() => go(step + 1)}>
          ›
        </button>
        <input
          type="range"
          min={1}
          max={kSteps}
          value={step}
          aria-label={t('step')}
          onInput={(event) => go(Number((event.target as HTMLInputElement).value))}
        />
        <span class="where">{t('step.of', { step, steps: kSteps })}</span>
      </div>
      <p class="says" role="status">
        <strong>{step}</strong> {says}
      </p>
      <Weighed words={kSource} {...weighedBy(kScores[row]!, kPlain)} hasScores={step >= 3} hasWeights={step >= 5} />
    </>
  )
}

function Bottleneck() {
  const [at, setAt] = useState(1)
  const { letters, without, with: attended }: ByLength = kByLength[at]!
  const bar = (name: string, share: number) => (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <span class="amount">
          <span class="bar">
            <span style={{ width: `${100 * share}%` }} />
          </span>
          {percent(share)}
        </span>
      </td>
    </tr>
  )
  return (
    <>
      <Slide
        name={t('tour.length')}
        value={at}
        range={[0, kByLength.length - 1]}
        step={1}
        says={letters}
        onSlide={setAt}
      />
      <table class="weighed">
        <caption>{t('tour.right', { letters })}</caption>
        <tbody>
          {bar(t('tour.without'), without)}
          {bar(t('tour.with'), attended)}
        </tbody>
      </table>
    </>
  )
}

function Temperature() {
  const [row, setRow] = useState(1)
  const [temperature, setTemperature] = useState(1)
  return (
    <>
      <WordChoice row={row} setRow={setRow} />
      <Slide
        name={t('tour.temperature')}
        value={temperature}
        range={[0.2, 5]}
        step={0.1}
        says={temperature.toFixed(1)}
        onSlide={setTemperature}
      />
      <Weighed words={kSource} {...weighedBy(kScores[row]!, { ...kPlain, temperature })} />
    </>
  )
}

function Window() {
  const [row, setRow] = useState(1)
  const [window, setWindow] = useState(1)
  return (
    <>
      <WordChoice row={row} setRow={setRow} />
      <Slide name={t('tour.window')} value={window} range={[0, 4]} step={1} onSlide={setWindow} />
      <Weighed words={kSource} {...weighedBy(kScores[row]!, { ...kPlain, window, centre: row })} />
    </>
  )
}

function Selections() {
  const [row, setRow] = useState(3)
  const [selection, pick] = useState<Selection>('sparse')
  const [temperature, setTemperature] = useState(1)
  const options = (['soft', 'sparse', 'hard'] as const).map((s) => [s, t(`tour.${s}`)] as const)
  return (
    <>
      <WordChoice row={row} setRow={setRow} />
      <Choice name={t('tour.selection')} options={options} value={selection} onPick={pick} />
      <Slide
        name={t('tour.temperature')}
        value={temperature}
        range={[0.2, 5]}
        step={0.1}
        says={temperature.toFixed(1)}
        onSlide={setTemperature}
      />
      <Weighed words={kSource} {...weighedBy(kScores[row]!, { ...kPlain, selection, temperature })} />
    </>
  )
}

function Causal() {
  const [row, setRow] = useState(2)
  // What is read before each word: the begin mark, then the words before it.
  const words = ['<s>', ...kTarget]
  const scores = words.map((_, i) => kSelfScores[row]![i] ?? NaN)
  return (
    <>
      <WordChoice row={row} setRow={setRow} />
      <Weighed words={words} {...weighedBy(scores, kPlain)} />
    </>
  )
}

function Positions() {
  const [row, setRow] = useState(0)
  const [slope, setSlope] = useState(0)
  return (
    <>
      <WordChoice row={row} setRow={setRow} />
      <Slide
        name={t('tour.slope')}
        value={slope}
        range={[0, 3]}
        step={0.1}
        says={slope.toFixed(1)}
        onSlide={setSlope}
      />
      <Weighed words={kSource} {...weighedBy(kScores[row]!, { ...kPlain, slope, centre: row })} />
    </>
  )
}

const Heads = () => (
  <p>
    <button type="button" class="primary" onClick={() => set({ tour: 0, view: 'heads' })}>
      {t('tour.heads.open')}
    </button>
  </p>
)

interface Page {
  name: Key
  says: Key
  equation: string
  Body: () => preact.JSX.Element
  isRecorded: boolean
}

const kPages: readonly Page[] = [
  {
    name: 'tour.steps',
    says: 'tour.steps.says',
    equation: 'e_s = q · k_s / √d        a = softmax(e)        c = Σ a_s v_s',
    Body: SevenSteps,
    isRecorded: true,
  },
  {
    name: 'tour.bottleneck',
    says: 'tour.bottleneck.says',
    equation: 'c = h_S        Sutskever et al. 2014',
    Body: Bottleneck,
    isRecorded: false,
  },
  {
    name: 'tour.scores',
    says: 'tour.scores.says',
    equation:
      'dot: q · k        scaled-dot: q · k / √d        general: q · W k        additive: v · tanh(W q + U k)        cosine: b q · k / (|q| |k|)',
    Body: Temperature,
    isRecorded: true,
  },
  {
    name: 'tour.scopes',
    says: 'tour.scopes.says',
    equation: 'local-m: |s − t| ≤ w        Luong et al. 2015',
    Body: Window,
    isRecorded: true,
  },
  {
    name: 'tour.selections',
    says: 'tour.selections.says',
    equation: 'soft: softmax(e)        sparse: argmin over p ≥ 0, Σ p = 1 of |p − e|²        hard: one s',
    Body: Selections,
    isRecorded: true,
  },
  {
    name: 'tour.masks',
    says: 'tour.masks.says',
    equation: 'e_ts = −∞ where s > t',
    Body: Causal,
    isRecorded: true,
  },
  {
    name: 'tour.positions',
    says: 'tour.positions.says',
    equation: 'ALiBi: q · k − m |s − t|        Press et al. 2022',
    Body: Positions,
    isRecorded: true,
  },
  {
    name: 'tour.heads',
    says: 'tour.heads.says',
    equation: 'head_i = attend(W_i q, U_i k, V_i v)        c = W [head_1; …; head_H]',
    Body: Heads,
    isRecorded: false,
  },
]

export function Tour() {
  const at = Math.min(state.tour.value, kPages.length)
  const { name, says, equation, Body, isRecorded } = kPages[at - 1]!
  return (
    <section class="tour" aria-labelledby="tour-name">
      <p class="name">
        <span id="tour-name">{t('tour')}</span>
        <button type="button" class="small" onClick={() => set({ tour: 0 })}>
          {t('tour.close')}
        </button>
      </p>
      <h2>{t(name)}</h2>
      <p>{t(says)}</p>
      <p class="equations" lang="">
        {equation.split('        ').map((part) => (
          <code>{part}</code>
        ))}
      </p>
      <Body key={at} />
      {isRecorded && <p class="faint">{t('tour.recorded')}</p>}
      <nav class="pages" aria-label={t('tour')}>
        <button type="button" disabled={at === 1} onClick={() => set({ tour: at - 1 })}>
          {t('tour.back')}
        </button>
        <span class="where">{t('tour.page', { page: at, pages: kPages.length })}</span>
        {at < kPages.length && (
          <button type="button" class="primary" onClick={() => set({ tour: at + 1 })}>
            {t('tour.next')}
          </button>
        )}
      </nav>
    </section>
  )
}
