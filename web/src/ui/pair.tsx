// Both sentences, always visible. Pointing at a word shades the other sentence by its attention weights. Shades bypass
// the virtual DOM and are set only on words whose shade changes.
import { effect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { t } from '../i18n'
import type { Grid } from '../model/grid'
import { labelsOf } from '../model/subwords'
import { directionOf, shown, type Label } from '../model/text'
import { grid, record, sideName, view } from '../state/derived'
import { hover, hovered, kNowhere, state } from '../state/store'
import { css, inkOn, onScale } from '../views/colour'
import { penOver } from '../views/steps'
import { inkNow, pickRow, shownPlace } from './canvas_view'

const kMax = 600 // tokens

interface SideProps {
  labels: Label[]
  side: 'row' | 'column'
  name: string
  place: (index: number) => void
  press: (index: number) => void
  words: { current: (HTMLButtonElement | null)[] }
  marked: Range | null
}

// Labels [begin, end).
interface Range {
  begin: number
  end: number
}

function Side({ labels, side, name, place, press, words, marked }: SideProps) {
  const direction = directionOf(labels)
  // Of a text that is too long to show, the part around what is marked.
  const begin = marked && marked.end > kMax ? Math.max(0, Math.min(marked.begin - kMax / 2, labels.length - kMax)) : 0
  const key = (event: KeyboardEvent): void => {
    const all = words.current.slice(begin)
    const from = all.indexOf(event.target as HTMLButtonElement)
    const onward = direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
    const backward = direction === 'rtl' ? 'ArrowRight' : 'ArrowLeft'
    const to =
      event.key === onward
        ? from + 1
        : event.key === backward
          ? from - 1
          : event.key === 'Home'
            ? 0
            : event.key === 'End'
              ? all.length - 1
              : -1
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
    <>
      <h3 id={`side-${side}`}>{name}</h3>
      <p class="tokens" dir={direction} lang="" role="group" aria-labelledby={`side-${side}`} onKeyDown={key}>
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
                class={`token${label.mark ? ' mark' : ''}${isMarked ? ' answer' : ''}`}
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
    </>
  )
}

// The weights that shade a sentence, or null for no shading.
function shadesOf(g: Grid, row: number, column: number, side: 'row' | 'column'): Float32Array | null {
  const width = g.columns.length
  if (side === 'column')
    return row >= 0 && row < g.rows.length ? g.weights.subarray(row * width, (row + 1) * width) : null
  if (row >= 0 || column < 0 || column >= width) return null
  return Float32Array.from(g.rows, (_, r) => g.weights[r * width + column]!)
}

function shade(
  words: (HTMLButtonElement | null)[],
  weights: Float32Array | null,
  before: Int16Array,
  after: number,
): void {
  const ink = inkNow()
  words.forEach((word, i) => {
    if (!word) return
    const weight = weights?.[i] ?? 0
    const share = Number.isNaN(weight) ? 0 : onScale(state.scale.value, weight)
    const level = Math.round(share * 100) + (i > after ? 1000 : 0) + (ink.paper === '#ffffff' ? 0 : 2000)
    if (before[i] === level) return
    before[i] = level
    const over = penOver(ink.paper, ink.pen, share)
    word.style.backgroundColor = share >= 0.01 ? css(over) : ''
    word.style.color = share > 0.08 ? inkOn(over) : ''
    word.classList.toggle('later', i > after)
  })
}

// The labels of the source that overlap with its characters [begin, end).
function labelsWithin(place: { begin: number; end: number } | undefined, words: boolean): Range | null {
  const source = record.value?.source
  if (!source || !place || place.end <= place.begin) return null
  const { labelOfToken } = labelsOf(source, words)
  const within = labelOfToken.filter((_, i) => {
    const token = source.tokens[i]!
    return token.begin < place.end && token.end > place.begin
  })
  return within.length > 0 ? { begin: within[0]!, end: within[within.length - 1]! + 1 } : null
}

// `marked` are characters of the source.
export function Pair({ marked }: { marked?: { begin: number; end: number } | undefined }) {
  const g = grid.value
  const range = useMemo(() => labelsWithin(marked, g?.reduction.words ?? false), [g, marked?.begin, marked?.end])
  const rows = useRef<(HTMLButtonElement | null)[]>([])
  const columns = useRef<(HTMLButtonElement | null)[]>([])
  const levels = useMemo(() => {
    const none = (count: number): Int16Array => new Int16Array(count).fill(-1)
    return { rows: none(g?.rows.length ?? 0), columns: none(g?.columns.length ?? 0) }
  }, [g, range])
  useEffect(
    () =>
      effect(() => {
        const now = grid.value
        if (!now) return
        const { row, column } = shownPlace()
        // During playback later tokens are not written yet.
        const after = view.value === 'steps' && row >= 0 && now.rowSide === 'target' ? row : Infinity
        shade(columns.current, shadesOf(now, row, column, 'column'), levels.columns, Infinity)
        shade(rows.current, shadesOf(now, row, column, 'row'), levels.rows, after)
        const mark = (words: (HTMLButtonElement | null)[], at: number): void => {
          for (const old of words) if (old?.classList.contains('picked')) old.classList.remove('picked')
          const word = words[at]
          word?.classList.add('picked')
          // Only a part of a long sentence is visible.
          const pane = word?.parentElement
          if (!word || !pane || pane.scrollHeight <= pane.clientHeight) return
          if (
            word.offsetTop < pane.scrollTop ||
            word.offsetTop + word.offsetHeight > pane.scrollTop + pane.clientHeight
          )
            pane.scrollTop = word.offsetTop - 20
        }
        mark(rows.current, row)
        mark(columns.current, column)
      }),
    [levels],
  )
  if (!g) return null
  return (
    <section class={marked ? 'pair tall' : 'pair'} aria-label={t('pair')}>
      <Side
        labels={g.columns}
        side="column"
        name={sideName(g.columnSide)}
        words={columns}
        marked={g.columnSide === 'source' ? range : null}
        place={(i) => hover(-1, i)}
        press={(i) => hover(-1, i)}
      />
      <Side
        labels={g.rows}
        side="row"
        name={sideName(g.rowSide)}
        words={rows}
        marked={g.rowSide === 'source' ? range : null}
        place={(i) => hover(i, -1)}
        press={pickRow}
      />
    </section>
  )
}
