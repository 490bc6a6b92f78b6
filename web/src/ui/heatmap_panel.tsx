// The heat map of the grid, with its legend.
import { useMemo } from 'preact/hooks'
import { t } from '../i18n'
import { hasAbsent } from '../model/grid'
import { dark, grid, sideName, titleOf } from '../state/derived'
import { state } from '../state/store'
import { largestOf, weightTint } from '../views/colour'
import { heatmap, isShrunk } from '../views/heatmap'
import { CanvasView, useRoom } from './canvas_view'
import { Legend } from './legend'
import { Numbers } from './numbers'
import { useExportedPicture } from './exported_picture'

export function HeatmapPanel() {
  const g = grid.value!
  const [pane, room] = useRoom<HTMLDivElement>()
  const [palette, scale, isDark] = [state.palette.value, state.scale.value, dark.value]
  const tint = useMemo(() => weightTint(palette, scale, largestOf([g]), isDark), [g, palette, scale, isDark])
  const names = { rows: sideName(g.rowSide), columns: sideName(g.columnSide) }
  const scene = useMemo(() => (room > 0 ? heatmap(g, room, tint, names) : null), [g, room, tint, names.rows])
  const title = titleOf(g)
  useExportedPicture(scene && { title, note: '', scene, tint, grids: [g] }, [scene, title])
  return (
    <div ref={pane}>
      <Legend tint={tint} masked={hasAbsent(g)} />
      {room > 0 && isShrunk(g, room) && <p class="note">{t('largest.shown')}</p>}
      {scene && <CanvasView scene={scene} label={`${t('view.heatmap')}: ${title}`} />}
      <Numbers grid={g} />
    </div>
  )
}
