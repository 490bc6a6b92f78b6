// Playback: decoding one step at a time, with the entropies of each step.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { t } from '../i18n'
import { choiceEntropy, rowEntropy } from '../model/grid'
import { grid, isMirrored, record, titleOf } from '../state/derived'
import { set, state } from '../state/store'
import { chart } from '../views/chart'
import { stepsSheet } from '../views/steps'
import { CanvasView, useRoom } from './canvas_view'
import { Numbers } from './numbers'
import { useExportedPicture } from './exported_picture'

const kPace = 900 // ms per step

function Player({ steps }: { steps: number }) {
  const [playing, setPlaying] = useState(false)
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
    if (!playing && at === steps - 1) go(0)
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

export function StepsPanel() {
  const g = grid.value!
  const [pane, room] = useRoom<HTMLDivElement>()
  const scale = state.scale.value
  const scene = useMemo(() => (room > 0 ? stepsSheet(g, room, scale) : null), [g, room, scale])
  const steps = record.value?.steps
  const names = [t('entropy.attention'), t('entropy.choice')]
  const entropies = useMemo(() => {
    if (room === 0) return null
    const attention = { name: names[0]!, values: g.rows.map((_, r) => rowEntropy(g, r)) }
    const choice = { name: names[1]!, values: g.firstToken.map((token) => choiceEntropy(steps?.[token])) }
    const series = g.notes.length > 0 ? [attention, choice] : [attention]
    return chart({ labels: g.rows, of: 'row', series, mirror: g.rowSide === 'source' && isMirrored.value }, room)
  }, [g, room, steps, names[0]])
  useEffect(() => {
    if (state.row.peek() < 0) set({ row: 0 })
  }, [g])
  const title = titleOf(g)
  useExportedPicture(scene && { title, note: '', scene, tint: null, grids: [g] }, [scene, title])
  return (
    <div ref={pane}>
      <Player steps={g.rows.length} />
      {entropies && (
        <>
          <h3>{t('entropy.chart')}</h3>
          <CanvasView scene={entropies} label={t('entropy.chart')} />
        </>
      )}
      {scene && <CanvasView scene={scene} label={`${t('view.steps')}: ${title}`} />}
      <Numbers grid={g} />
    </div>
  )
}
