// Playback: decoding one step at a time, with a chart of all steps to jump to.
import { useEffect, useMemo } from 'preact/hooks'
import { t } from '../i18n'
import { choiceEntropy, rowEntropy } from '../model/grid'
import { activeRow, grid, isMirrored, record, titleOf } from '../state/derived'
import { set, state } from '../state/store'
import { chart } from '../views/chart'
import { stepsSheet } from '../views/steps'
import { CanvasView, useRoom } from './canvas_view'
import { Help } from './help'
import { Numbers } from './numbers'
import { Player } from './player'
import { useExportedPicture } from './exported_picture'

// The number of equal shares with the same entropy.
const effective = (entropy: number | null): number | null => (entropy === null ? null : Math.exp(entropy))

export function StepsPanel() {
  const g = grid.value!
  const [pane, room] = useRoom<HTMLDivElement>()
  const scale = state.scale.value
  const row = Math.min(Math.max(0, activeRow.value), g.rows.length - 1)
  const frame = useMemo(() => (room > 0 ? stepsSheet(g, room, scale, row) : null), [g, room, scale, row])
  const scene = useMemo(() => (room > 0 ? stepsSheet(g, room, scale) : null), [g, room, scale])
  const steps = record.value?.steps
  const names = [t('entropy.attention'), t('entropy.choice')]
  const entropies = useMemo(() => {
    if (room === 0) return null
    const attention = { name: names[0]!, values: g.rows.map((_, r) => Math.exp(rowEntropy(g, r))) }
    const choice = { name: names[1]!, values: g.firstToken.map((token) => effective(choiceEntropy(steps?.[token]))) }
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
      {frame && <CanvasView scene={frame} label={`${t('view.steps')}: ${title}`} />}
      {entropies && (
        <>
          <h3>
            {t('entropy.chart')} <Help term={t('entropy.chart')} text={t('entropy.help')} />
          </h3>
          <CanvasView scene={entropies} label={t('entropy.chart')} />
        </>
      )}
      <Numbers grid={g} />
    </div>
  )
}
