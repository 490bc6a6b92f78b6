// The line that describes the cell, row or column pointed at, also for screen readers. It bypasses the virtual DOM,
// because it changes with every move of the pointer.
import { effect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../i18n'
import { describe, grid, view } from '../state/derived'
import { shownPlace } from './canvas_view'

export function StatusLine() {
  const line = useRef<HTMLParagraphElement>(null)
  useEffect(
    () =>
      effect(() => {
        const { row, column } = shownPlace()
        const text = grid.value ? describe(grid.value, row, column) : ''
        line.current!.textContent =
          text || t(view.value === 'flow' ? 'how.to.flow' : view.value === 'heatmap' ? 'how.to.heatmap' : 'how.to')
        line.current!.classList.toggle('faint', text === '')
      }),
    [],
  )
  return <p class="status-line" role="status" aria-live="polite" ref={line} />
}
