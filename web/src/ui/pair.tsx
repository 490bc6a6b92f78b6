// Both sentences, always visible. Pointing at a word shades the other sentence by its attention weights. Shades bypass
// the virtual DOM and are set only on words whose shade changes.
import { effect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { t } from '../i18n'
import type { Grid } from '../model/grid'
import { directionOf, shown, type Label } from '../model/text'
import { grid } from '../state/derived'
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
}

function Side({ labels, side, name, place, press, words }: SideProps) {
  const direction = directionOf(labels)
  const key = (event: KeyboardEvent): void => {
    const all = words.current
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
  words.current.length = Math.min(labels.length, kMax)
  return (
    <>
      <h3 id={`side-${side}`}>{name}</h3>
      <p class="tokens" dir={direction} lang="" role="group" aria-labelledby={`side-${side}`} onKeyDown={key}>
        {labels.slice(0, kMax).map((label, i) => (
          <>
            {label.spaceBefore && ' '}
            <button
              type="button"
              dir="auto"
              ref={(element) => void (words.current[i] = element)}
              class={label.mark ? 'token mark' : 'token'}
              tabIndex={i === 0 ? 0 : -1}
              onPointerEnter={() => place(i)}
              onFocus={() => place(i)}
              onPointerLeave={() => (hovered.value = kNowhere)}
              onBlur={() => (hovered.value = kNowhere)}
              onClick={() => press(i)}
            >
              {shown(label)}
            </button>
          </>
        ))}
        {labels.length > kMax && <span class="faint"> {t('pair.more', { count: labels.length - kMax })}</span>}
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

export function Pair() {
  const g = grid.value
  const rows = useRef<(HTMLButtonElement | null)[]>([])
  const columns = useRef<(HTMLButtonElement | null)[]>([])
  const levels = useMemo(() => ({ rows: new Int16Array(kMax).fill(-1), columns: new Int16Array(kMax).fill(-1) }), [g])
  useEffect(
    () =>
      effect(() => {
        const now = grid.value
        if (!now) return
        const { row, column } = shownPlace()
        // During playback later tokens are not written yet.
        const after = state.view.value === 'steps' && row >= 0 && now.rowSide === 'target' ? row : Infinity
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
    <section class="pair" aria-label={t('pair')}>
      <Side
        labels={g.columns}
        side="column"
        name={t(g.columnSide)}
        words={columns}
        place={(i) => hover(-1, i)}
        press={(i) => hover(-1, i)}
      />
      <Side labels={g.rows} side="row" name={t(g.rowSide)} words={rows} place={(i) => hover(i, -1)} press={pickRow} />
    </section>
  )
}
