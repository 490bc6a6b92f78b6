// The line that describes the cell, row or column pointed at, also for screen readers. It bypasses the virtual DOM,
// because it changes with every move of the pointer.
import { effect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { t, type Key } from '../i18n'
import { describe, grid, view } from '../state/derived'
import type { View } from '../state/store'
import { shownPlace } from './canvas_view'

const kHints: Partial<Record<View, Key>> = {
  flow: 'how.to.flow',
  heatmap: 'how.to.heatmap',
  pictures: 'how.to.pictures',
}

export function StatusLine() {
  const line = useRef<HTMLParagraphElement>(null)
  useEffect(
    () =>
      effect(() => {
        const { row, column } = shownPlace()
        const text = grid.value ? describe(grid.value, row, column) : ''
        line.current!.textContent = text || t(kHints[view.value] ?? 'how.to')
        line.current!.classList.toggle('faint', text === '')
      }),
    [],
  )
  return <p class="status-line" role="status" aria-live="polite" ref={line} />
}
