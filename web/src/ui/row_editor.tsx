// Edits the attention weights of a step: a bar for each source token, dragged or moved with the keys, always summing to
// 1. The edit applies to the head that is shown alone, else to all heads.
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../i18n'
import { directionOf, isolated, shown } from '../model/text'
import { normalise, setRow, setWeight } from '../model/whatif'
import { reduce } from '../model/reduce'
import { kind, record } from '../state/derived'
import { set, state } from '../state/store'

function startOf(step: number): number[] {
  // The model attends to tokens, so the bars are tokens even if the views show words.
  const g = reduce(record.peek()!, {
    kind: 'cross',
    how: state.how.peek() === 'one' ? 'one' : 'mean',
    layer: state.layer.peek(),
    head: state.head.peek(),
    words: false,
  })!
  const width = g.columns.length
  return normalise(Array.from(g.weights.subarray(step * width, (step + 1) * width), (w) => w || 0))
}

export function RowEditor({ step, close }: { step: number; close: () => void }) {
  const tokens = record.value!.source.tokens
  const [weights, setWeights] = useState(() => startOf(step))
  const [focus, setFocus] = useState(0)
  const bars = useRef<(HTMLDivElement | null)[]>([])
  const dragging = useRef(false)
  useEffect(() => setWeights(startOf(step)), [step, record.value])
  const labels = tokens.map((token) => ({ text: token.text, spaceBefore: false, mark: token.mark ?? false }))
  const rtl = directionOf(labels) === 'rtl'

  const drag = (event: PointerEvent): void => {
    if (!dragging.current) return
    const place = bars.current.findIndex((bar) => {
      const box = bar?.getBoundingClientRect()
      return box && event.clientX >= box.left && event.clientX < box.right
    })
    const box = bars.current[place]?.getBoundingClientRect()
    if (box) setWeights(setWeight(weights, place, 1 - (event.clientY - box.top) / box.height))
  }
  const begin = (event: PointerEvent): void => {
    dragging.current = true
    ;(event.currentTarget as HTMLElement).setPointerCapture(event.pointerId)
    drag(event)
  }
  const key = (event: KeyboardEvent, i: number): void => {
    const aside = { ArrowRight: rtl ? -1 : 1, ArrowLeft: rtl ? 1 : -1 }[event.key]
    const to = {
      ArrowUp: weights[i]! + 0.05,
      ArrowDown: weights[i]! - 0.05,
      PageUp: weights[i]! + 0.2,
      PageDown: weights[i]! - 0.2,
      Home: 0,
      End: 1,
    }[event.key]
    if (aside === undefined && to === undefined) return
    event.preventDefault()
    if (to !== undefined) return setWeights(setWeight(weights, i, to))
    const next = Math.min(tokens.length - 1, Math.max(0, i + aside!))
    setFocus(next)
    bars.current[next]?.focus()
  }
  const tryIt = (): void => {
    const one = state.how.peek() === 'one'
    const edit = {
      kind: kind.peek(),
      layer: one ? Math.max(1, state.layer.peek()) : null,
      head: one ? Math.max(1, state.head.peek()) : null,
      row: step,
      weights: weights.map((w) => Math.round(w * 1e4) / 1e4),
    }
    set({ edits: setRow(state.edits.peek(), edit) })
  }
  return (
    <section class="editor" aria-label={t('editor')}>
      <h3>{t('editor')}</h3>
      <p class="faint">{t('editor.hint')}</p>
      <div
        class="columns"
        dir={rtl ? 'rtl' : 'ltr'}
        onPointerDown={begin}
        onPointerMove={drag}
        onPointerUp={() => (dragging.current = false)}
        onPointerCancel={() => (dragging.current = false)}
      >
        {labels.map((label, i) => (
          <div class="column">
            <div
              class="track"
              role="slider"
              aria-orientation="vertical"
              tabIndex={i === focus ? 0 : -1}
              aria-label={t('editor.bar', { token: isolated(shown(label)) })}
              aria-valuemin={0}
              aria-valuemax={100}
              aria-valuenow={Math.round(100 * weights[i]!)}
              aria-valuetext={`${(100 * weights[i]!).toFixed(0)}%`}
              ref={(element) => void (bars.current[i] = element)}
              onKeyDown={(event) => key(event, i)}
              onFocus={() => setFocus(i)}
            >
              <div class="fill" style={{ height: `${100 * weights[i]!}%` }} />
            </div>
            <bdi lang="" class={label.mark ? 'mark' : ''}>
              {shown(label)}
            </bdi>
          </div>
        ))}
      </div>
      <p class="buttons">
        <button type="button" class="primary" onClick={tryIt}>
          {t('editor.try')}
        </button>
        <button type="button" onClick={() => setWeights(normalise(weights.map(() => 1)))}>
          {t('editor.even')}
        </button>
        <button type="button" onClick={() => setWeights(startOf(step))}>
          {t('editor.reset')}
        </button>
        <button type="button" onClick={close}>
          {t('editor.close')}
        </button>
      </p>
    </section>
  )
}
