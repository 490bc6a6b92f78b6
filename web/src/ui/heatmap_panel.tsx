// The heat map of the grid, with its legend and a zoom.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { t } from '../i18n'
import { hasAbsent, normaliseRows } from '../model/grid'
import { dark, grid, sideName, titleOf } from '../state/derived'
import { narrow, touch } from '../state/screen'
import { state } from '../state/store'
import { largestOf, weightTint } from '../views/colour'
import { heatmap, isShrunk } from '../views/heatmap'
import { CanvasView, useRoom } from './canvas_view'
import { besideMap, Introduction } from './introduction'
import { Legend } from './legend'
import { Numbers } from './numbers'
import { useExportedPicture } from './exported_picture'

const kZoomStep = 1.5
const kMaxZoom = 6
const kIntroduction = 300 // px beside a map
const kPrinted = 640 // px of the width of a printed map

interface ZoomProps {
  zoom: number // 0 for as small as it takes to see all
  setZoom: (to: number) => void
}

function Zoom({ zoom, setZoom }: ZoomProps) {
  return (
    <div class="zoom" role="group" aria-label={t('zoom')}>
      <button type="button" aria-pressed={zoom === 0} onClick={() => setZoom(zoom === 0 ? 1 : 0)}>
        {t('zoom.fit')}
      </button>
      <button
        type="button"
        aria-label={t('zoom.out')}
        disabled={zoom === 0}
        onClick={() => setZoom(zoom <= 1 ? 0 : zoom / kZoomStep)}
      >
        −
      </button>
      <button
        type="button"
        aria-label={t('zoom.in')}
        disabled={zoom >= kMaxZoom}
        onClick={() => setZoom(zoom === 0 ? 1 : Math.min(kMaxZoom, zoom * kZoomStep))}
      >
        +
      </button>
    </div>
  )
}

export function HeatmapPanel() {
  const g = grid.value!
  const [pane, room] = useRoom<HTMLDivElement>()
  const [zoom, setZoom] = useState(1)
  const [palette, scale, isDark, relative] = [state.palette.value, state.scale.value, dark.value, state.normalise.value]
  const painted = useMemo(() => (relative ? normaliseRows(g) : g), [g, relative])
  const largest = useMemo(() => largestOf([painted]), [painted])
  const tint = useMemo(() => weightTint(palette, scale, largest, isDark), [largest, palette, scale, isDark])
  const names = { rows: sideName(g.rowSide), columns: sideName(g.columnSide) }
  const scene = useMemo(
    () => (room > 0 ? heatmap(painted, room, tint, names, zoom) : null),
    [painted, room, tint, names.rows, zoom],
  )
  const title = titleOf(g) + (relative ? `${t('comma')}${t('title.normalised')}` : '')
  const print = () => {
    const greys = weightTint('greys', scale, largest, false)
    return { scene: heatmap(painted, kPrinted, greys, names), tint: greys }
  }
  useExportedPicture(scene && { title, note: '', scene, tint, grids: [g], print }, [scene, title])
  // How to read a small map stands beside it, so that both are in sight at once.
  const isBeside = !narrow.value && scene !== null && scene.width + kIntroduction <= room
  useEffect(() => void (besideMap.value = isBeside), [isBeside])
  // Two fingers on a touchpad, and a wheel with Ctrl, arrive as the same event.
  const wheel = (event: WheelEvent): void => {
    if (!event.ctrlKey) return
    event.preventDefault()
    setZoom(Math.min(kMaxZoom, Math.max(1, (zoom || 1) * Math.exp(-event.deltaY / 300))))
  }
  return (
    <div ref={pane} onWheel={wheel}>
      <div class="over-map">
        <Legend tint={tint} masked={hasAbsent(g)} name={t(relative ? 'weight.relative' : 'weight')} />
        <Zoom zoom={zoom} setZoom={setZoom} />
      </div>
      {room > 0 && isShrunk(g, room, zoom) && <p class="note">{t('largest.shown')}</p>}
      <div class={isBeside ? 'beside' : ''}>
        {scene && <CanvasView scene={scene} label={`${t('view.heatmap')}: ${title}`} />}
        {!narrow.value && <Introduction />}
      </div>
      {!touch.value && !narrow.value && <p class="faint hint">{t('how.to.keys')}</p>}
      <Numbers grid={g} />
    </div>
  )
}
