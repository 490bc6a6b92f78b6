// The words of a sentence as buttons, and the shading of words by attention weights. Shades bypass the virtual DOM and are
// set only on words whose shade changes.
import { effect } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { t } from '../i18n'
import type { Grid } from '../model/grid'
import { directionOf, shown, type Label } from '../model/text'
import { grid, view } from '../state/derived'
import { hovered, kNowhere, state } from '../state/store'
import { css, inkOn, largestOf, onScale } from '../views/colour'
import { penOver } from '../views/steps'
import { inkNow, shownPlace } from './canvas_view'

const kMax = 600 // tokens

export type Side = 'row' | 'column'
export type Words = { current: (HTMLElement | null)[] }

// Labels [begin, end).
export interface Range {
  begin: number
  end: number
}

interface Props {
  labels: Label[]
  name: string // the id of the element that names them
  place: (index: number) => void
  press: (index: number) => void
  words: Words
  marked: Range | null
  isGuess?: (index: number) => boolean // written for a word that the model does not know
}

export function Tokens({ labels, name, place, press, words, marked, isGuess }: Props) {
  const direction = directionOf(labels)
  // Of a text that is too long to show, the part around what is marked.
  const begin = marked && marked.end > kMax ? Math.max(0, Math.min(marked.begin - kMax / 2, labels.length - kMax)) : 0
  const key = (event: KeyboardEvent): void => {
    const all = words.current.slice(begin)
    const from = all.indexOf(event.target as HTMLElement)
    const forward = direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
    const backward = direction === 'rtl' ? 'ArrowRight' : 'ArrowLeft'
    const to = { [forward]: from + 1, [backward]: from - 1, Home: 0, End: all.length - 1 }[event.key] ?? -1
    if (event.key === 'Escape') return void (state.row.value = -1)
    if (from < 0 || to < 0 || to >= all.length) return
    event.preventDefault()
    all[from]!.tabIndex = -1
    all[to]!.tabIndex = 0
    all[to]!.focus()
  }
  useEffect(() => {
    const word = marked && words.current[marked.begin]
    const pane = word?.parentElement
    if (word && pane && pane.scrollHeight > pane.clientHeight) pane.scrollTop = word.offsetTop - pane.clientHeight / 3
  }, [marked])
  words.current.length = Math.min(labels.length, begin + kMax)
  return (
    <p class="tokens" dir={direction} lang="" role="group" aria-labelledby={name} onKeyDown={key}>
      {begin > 0 && <span class="faint">… </span>}
      {labels.slice(begin, begin + kMax).map((label, k) => {
        const i = begin + k
        const isMarked = marked !== null && i >= marked.begin && i < marked.end
        return (
          <>
            {label.spaceBefore && ' '}
            <button
              type="button"
              dir="auto"
              ref={(element) => void (words.current[i] = element)}
              class={`token${label.mark ? ' mark' : ''}${isMarked ? ' answer' : ''}${isGuess?.(i) ? ' unknown' : ''}`}
              title={label.mark ? t('mark.help') : isGuess?.(i) ? t('unknown.guess') : undefined}
              tabIndex={k === 0 ? 0 : -1}
              onPointerEnter={() => place(i)}
              onFocus={() => place(i)}
              onPointerLeave={() => (hovered.value = kNowhere)}
              onBlur={() => (hovered.value = kNowhere)}
              onClick={() => press(i)}
            >
              {shown(label)}
            </button>
          </>
        )
      })}
      {labels.length > begin + kMax && (
        <span class="faint"> {t('pair.more', { count: labels.length - begin - kMax })}</span>
      )}
    </p>
  )
}

// The weights that shade a sentence, or null for no shading.
function shadesOf(g: Grid, row: number, column: number, side: Side): Float32Array | null {
  const width = g.columns.length
  if (side === 'column')
    return row >= 0 && row < g.rows.length ? g.weights.subarray(row * width, (row + 1) * width) : null
  if (row >= 0 || column < 0 || column >= width) return null
  return Float32Array.from(g.rows, (_, r) => g.weights[r * width + column]!)
}

function shade(
  words: (HTMLElement | null)[],
  weights: Float32Array | null,
  largest: number,
  before: Int16Array,
  after: number,
): void {
  const ink = inkNow()
  words.forEach((word, i) => {
    if (!word) return
    const weight = weights?.[i] ?? 0
    const share = Number.isNaN(weight) ? 0 : onScale(state.scale.value, weight, largest)
    const level = Math.round(share * 100) + (i > after ? 1000 : 0) + (ink.paper === '#ffffff' ? 0 : 2000)
    if (before[i] === level) return
    before[i] = level
    const over = penOver(ink.paper, ink.pen, share)
    word.style.backgroundColor = share >= 0.01 ? css(over) : ''
    word.style.color = share > 0.08 ? inkOn(over) : ''
    word.classList.toggle('later', i > after)
  })
}

function mark(words: (HTMLElement | null)[], at: number): void {
  for (const old of words) if (old?.classList.contains('picked')) old.classList.remove('picked')
  const word = words[at]
  word?.classList.add('picked')
  // Only a part of a long sentence is visible.
  const pane = word?.closest('output, .source') ?? word?.parentElement
  if (!word || !pane || pane.scrollHeight <= pane.clientHeight) return
  const [own, seen] = [word.getBoundingClientRect(), pane.getBoundingClientRect()]
  if (own.top < seen.top || own.bottom > seen.bottom) pane.scrollTop += own.top - seen.top - 20
}

// Shades the words of a side of the grid and marks the selected one. `depends` changes when the words are new elements.
export function useShading(words: Words, side: Side, depends: unknown): void {
  const g = grid.value
  // What is already set on each word, so that pointing changes only what differs.
  const levels = useMemo(() => {
    const count = side === 'row' ? g?.rows.length : g?.columns.length
    return new Int16Array(count ?? 0).fill(-1)
  }, [g, depends])
  const largest = useMemo(() => (g ? largestOf([g]) : 1), [g])
  useEffect(
    () =>
      effect(() => {
        const now = grid.value
        if (!now) return
        const { row, column } = shownPlace()
        // During playback later tokens are not written yet.
        const played = side === 'row' && view.value === 'steps' && row >= 0 && now.rowSide === 'target'
        shade(words.current, shadesOf(now, row, column, side), largest, levels, played ? row : Infinity)
        mark(words.current, side === 'row' ? row : now.rowSide === now.columnSide && row >= 0 ? row : column)
      }),
    [levels],
  )
}
