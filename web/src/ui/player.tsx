// Plays the decoding steps of an answer one after the other; the selected row is the step.
import { useEffect, useState } from 'preact/hooks'
import { t } from '../i18n'
import { set, state } from '../state/store'

const kPace = 900 // ms per step

interface Props {
  steps: number
  onPlay?: (playing: boolean) => void
}

export function Player({ steps, onPlay }: Props) {
  const [playing, setPlaying] = useState(false)
  useEffect(() => onPlay?.(playing), [playing])
  const at = Math.min(Math.max(0, state.row.value), steps - 1)
  const go = (to: number): void => set({ row: Math.min(steps - 1, Math.max(0, to)) })
  useEffect(() => {
    if (!playing) return
    const timer = setInterval(() => {
      const next = state.row.peek() + 1
      if (next >= steps) setPlaying(false)
      else set({ row: next })
    }, kPace)
    return () => clearInterval(timer)
  }, [playing, steps])
  const toggle = (): void => {
    if (!playing && (at === steps - 1 || state.row.peek() < 0)) go(0)
    setPlaying(!playing)
  }
  const step = (by: number): void => (setPlaying(false), go(at + by))
  return (
    <div class="player" role="group" aria-label={t('view.steps')}>
      <button type="button" aria-label={t('back')} disabled={at === 0} onClick={() => step(-1)}>
        ‹
      </button>
      <button type="button" class="play" onClick={toggle}>
        {playing ? t('pause') : t('play')}
      </button>
      <button type="button" aria-label={t('forward')} disabled={at === steps - 1} onClick={() => step(1)}>
        ›
      </button>
      <input
        type="range"
        min={1}
        max={steps}
        value={at + 1}
        aria-label={t('step')}
        onInput={(event) => (setPlaying(false), go(Number((event.target as HTMLInputElement).value) - 1))}
      />
      <span class="where">{t('step.of', { step: at + 1, steps })}</span>
    </div>
  )
}
