// A text and its class: the probabilities of all classes, the text with the words that the pooling attended to, and what
// the model would have said without some of them.
import { useMemo } from 'preact/hooks'
import { t } from '../i18n'
import { percent } from '../model/grid'
import type { AttentionRecord, ClassProbability } from '../model/record'
import { reduce } from '../model/reduce'
import { wordsOf, type Word } from '../model/words'
import { first, modelInfo, opened, second, secondFailure } from '../state/answers'
import { dark, record } from '../state/derived'
import { leaveOneOut, losses } from '../state/leave_one_out'
import { set, state } from '../state/store'
import { changeTint, onScale } from '../views/colour'
import { answerStatus } from './answer_status'
import { changeText } from './compare_panel'
import { inkNow } from './canvas_view'
import { Examples, write } from './examples'
import { FileBar } from './open_file'
import { penShade, ShadedWords } from './shaded_words'

const kMaxClasses = 12
const kMaxHops = 12
const kTop = 5 // words of leave-one-out that are listed

const more = (count: number): string => t('pair.more', { count })

interface BarsProps {
  classes: readonly ClassProbability[]
  after: readonly ClassProbability[] // without the removed words; empty if none are
}

function Bars({ classes, after }: BarsProps) {
  const width = (p: number): { width: string } => ({ width: `${Math.max(0.5, 100 * Math.min(1, p))}%` })
  return (
    <ol class="classes">
      {classes.slice(0, kMaxClasses).map(({ label, probability }, i) => {
        const then = after.find((c) => c.label === label)?.probability
        return (
          <li class={i === 0 ? 'best' : ''}>
            <bdi lang="" title={label}>
              {label}
            </bdi>
            <span class="bar">
              <span style={width(probability)} />
              {then !== undefined && <span class="then" style={width(then)} />}
            </span>
            <span class="p">
              {percent(probability)}
              {then !== undefined && (
                <span class="change"> {t('points', { value: changeText(probability, then) })}</span>
              )}
            </span>
          </li>
        )
      })}
      {classes.length > kMaxClasses && <li class="faint">{more(classes.length - kMaxClasses)}</li>}
    </ol>
  )
}

function Input() {
  return (
    <section class="box">
      <label class="name" for="source">
        {t('classify.text')}
      </label>
      <textarea
        id="source"
        dir="auto"
        rows={3}
        spellcheck={false}
        value={state.text.value}
        placeholder={t('classify.hint')}
        onInput={(event) => write({ text: (event.target as HTMLTextAreaElement).value })}
      />
      <Examples examples={modelInfo.value?.examples ?? []} />
    </section>
  )
}

function Result() {
  const answer = first.value
  const file = opened.value
  const classes = file ? (record.value?.classes ?? []) : (answer?.classes ?? [])
  const status = answerStatus('waiting', answer)
  const best = classes[0]
  return (
    <section class="box" aria-labelledby="output-name">
      <p class="name">
        <span id="output-name">{t('classify.label')}</span>
        <span class="faint status">{status}</span>
      </p>
      <output class="label" for="source" dir="auto" lang="">
        {best ? best.label : '\u00a0'}
        {best && <span class="faint"> {percent(best.probability)}</span>}
      </output>
      <Bars classes={classes} after={second.value?.classes ?? []} />
      {record.value?.cut && <p class="note">{t('cut')}</p>}
      {file && <FileBar file={file} />}
    </section>
  )
}

export function Classify() {
  return (
    <div class="ask">
      <Input />
      <Result />
    </div>
  )
}

interface Row {
  name: string
  weights: Float32Array
}

// The mean of the hops, then each of them, over words.
function rowsOf(r: AttentionRecord): Row[] {
  const grid = reduce(r, { kind: 'pooling', how: 'mean', layer: 0, head: 0, words: true })
  if (!grid) return []
  const width = grid.columns.length
  const hops = grid.rows.map(({ text }, i) => ({
    name: text,
    weights: grid.weights.subarray(i * width, (i + 1) * width),
  }))
  if (hops.length < 2) return hops.map(({ weights }) => ({ name: t('classify.attention'), weights }))
  const sum = new Float32Array(width)
  for (const { weights } of hops) weights.forEach((w, c) => (sum[c]! += (w || 0) / hops.length))
  return [{ name: t('classify.mean'), weights: sum }, ...hops.slice(0, kMaxHops)]
}

const largest = (values: Iterable<number>): number => {
  let most = 0
  for (const value of values) if (Math.abs(value) > most) most = Math.abs(value)
  return most || 1
}

function toggleWord(i: number): void {
  const removed = state.removed.peek()
  set({ removed: removed.includes(i) ? removed.filter((x) => x !== i) : [...removed, i].sort((a, b) => a - b) })
}

// The loss of each word in two colours, and the words that counted most.
function Losses({ words }: { words: readonly Word[] }) {
  const found = losses.value
  if (!found) return null
  const tint = changeTint(largest(found.of.filter((x) => !Number.isNaN(x))), inkNow())
  const loss = (i: number): number => found.of[i] || 0
  const lost = (i: number): string => t('points', { value: changeText(loss(i), 0) })
  const top = words
    .map((_, i) => i)
    .filter((i) => Math.abs(loss(i)) >= 0.0005)
    .sort((a, b) => Math.abs(loss(b)) - Math.abs(loss(a)))
    .slice(0, kTop)
  return (
    <>
      <h3>{t('loo')}</h3>
      <div class="losses">
        <ShadedWords
          words={words}
          shade={(i) => ({ colour: tint.colour(loss(i)), strength: Math.abs(loss(i)) / tint.high })}
          title={(i) => lost(i)}
          more={more}
        />
        <p class="faint">{t(found.done ? 'loo.about' : 'loo.trying', { label: found.label })}</p>
        {top.length > 0 && (
          <ol class="top">
            {top.map((i) => (
              <li>
                <bdi lang="">{words[i]!.text}</bdi> <span class="p">{lost(i)}</span>
              </li>
            ))}
          </ol>
        )}
      </div>
    </>
  )
}

// The highlighted text, one line for each hop, and what the label would be without some words.
export function Highlights() {
  const r = record.value
  const isDark = dark.value
  const words = useMemo(() => (r ? wordsOf(r.source) : []), [r])
  const rows = useMemo(() => (r ? rowsOf(r) : []), [r, isDark])
  if (!r) return null
  const { removed, scale } = state
  const first_row = rows[0]
  const shade = (row: Row | undefined) => (i: number) =>
    penShade(row ? onScale(scale.value, row.weights[i] || 0, largest(row.weights)) : 0)
  const say = (row: Row | undefined) => (i: number) => (row ? (row.weights[i] || 0).toFixed(3) : '')
  const file = opened.value
  return (
    <section class="highlights" aria-labelledby="highlights-name">
      <h2 id="highlights-name">{t('classify.highlights')}</h2>
      <div class="rows">
        <h3>{first_row?.name ?? t('classify.text')}</h3>
        <ShadedWords
          words={words}
          shade={shade(first_row)}
          title={say(first_row)}
          className={(i) => (removed.value.includes(i) ? 'removed' : '')}
          {...(!file && { press: toggleWord, pressed: (i: number) => removed.value.includes(i) })}
          more={more}
        />
        {rows.slice(1).map((row) => (
          <>
            <h3>{row.name}</h3>
            <ShadedWords words={words} shade={shade(row)} title={say(row)} more={more} />
          </>
        ))}
        <Losses words={words} />
      </div>
      {!file && (
        <p class="buttons">
          <button
            type="button"
            disabled={losses.value?.done === false}
            onClick={() => void leaveOneOut(r, first.peek()!.classes)}
          >
            {t('loo.try')}
          </button>
          {removed.value.length > 0 && (
            <button type="button" onClick={() => set({ removed: [] })}>
              {t('classify.restore')}
            </button>
          )}
          <span class="faint">{t('classify.press')}</span>
        </p>
      )}
      {secondFailure.value && <p class="note">{secondFailure.value.message}</p>}
    </section>
  )
}
