// Layers and heads as small multiples over the whole width. A head can be shown alone, or switched off to see the output
// without it.
import { useMemo } from 'preact/hooks'
import { t } from '../i18n'
import { hasAbsent, normaliseRows, type Grid } from '../model/grid'
import { everyHead } from '../model/reduce'
import { isOff, toggleHead } from '../model/whatif'
import { opened } from '../state/answers'
import { attention, dark, isWritten, kind, record } from '../state/derived'
import { set, state } from '../state/store'
import { largestOf, weightTint, type Tint } from '../views/colour'
import { headMap, headsSheet } from '../views/heads'
import { CanvasView, useRoom } from './canvas_view'
import { Legend } from './legend'
import { Numbers } from './numbers'
import { useExportedPicture } from './exported_picture'

const kGap = 20 // px, as in app.css
const kNarrowest = 150 // px of a map
const kWidest = 420

const nameOf = (g: Grid): string => t('title.one', { layer: g.reduction.layer, head: g.reduction.head })

function Head({ grid, tint, room }: { grid: Grid; tint: Tint; room: number }) {
  const { layer, head } = grid.reduction
  const scene = useMemo(() => headMap(grid, tint, room), [grid, tint, room])
  const off = isOff(state.edits.value, kind.value, layer, head)
  const open = (): void => set({ how: 'one', layer, head, view: 'heatmap' })
  return (
    <li class={off ? 'head off' : 'head'}>
      <button type="button" class="open" onClick={open} aria-label={t('heads.open', { layer, head })}>
        {t('head')} {head} <span aria-hidden="true">⤢</span>
      </button>
      <CanvasView scene={scene} label={nameOf(grid)} small onPress={open} />
      {!opened.value && isWritten.value && (
        <button
          type="button"
          class="switch"
          aria-pressed={off}
          onClick={() => set({ edits: toggleHead(state.edits.peek(), kind.peek(), layer, head) })}
        >
          {t('heads.off')}
          <span class="unseen">: {nameOf(grid)}</span>
        </button>
      )}
    </li>
  )
}

// The width of a map: as many heads of a layer side by side as there is room for.
function widthOf(room: number, across: number): number {
  const fit = Math.max(1, Math.floor((room + kGap) / (kNarrowest + kGap)))
  const lines = Math.ceil(across / fit)
  const inLine = Math.ceil(across / lines)
  return Math.min(kWidest, Math.floor((room - kGap * (inLine - 1)) / inLine) - 6)
}

export function HeadsPanel() {
  const r = record.value!
  const [pane, room] = useRoom<HTMLDivElement>()
  const [words, relative] = [state.words.value, state.normalise.value]
  const every = useMemo(() => everyHead(r, kind.value, words), [r, kind.value, words])
  const grids = useMemo(() => (relative ? every.map(normaliseRows) : every), [every, relative])
  const [palette, scale, isDark] = [state.palette.value, state.scale.value, dark.value]
  const tint = useMemo(() => weightTint(palette, scale, largestOf(grids), isDark), [grids, palette, scale, isDark])
  const across = attention.value?.heads ?? 1
  const scene = useMemo(() => headsSheet(grids, across, tint, nameOf), [grids, across, tint])
  const title = `${t(`kind.${kind.value}`)}${t('comma')}${t('view.heads')}`
  const print = () => {
    const greys = weightTint('greys', scale, largestOf(grids), false)
    return { scene: headsSheet(grids, across, greys, nameOf), tint: greys }
  }
  useExportedPicture({ title, note: '', scene, tint, grids, print }, [scene, title])
  return (
    <div ref={pane}>
      {!opened.value && isWritten.value && <p class="faint">{t('heads.about')}</p>}
      <Legend tint={tint} masked={grids.some(hasAbsent)} name={t(relative ? 'weight.relative' : 'weight')} />
      {room > 0 &&
        Array.from({ length: grids.length / across }, (_, layer) => (
          <section>
            <h3>
              {t('layer')} {layer + 1}
            </h3>
            <ul class="heads">
              {grids.slice(layer * across, (layer + 1) * across).map((g) => (
                <Head key={nameOf(g)} grid={g} tint={tint} room={widthOf(room, across)} />
              ))}
            </ul>
          </section>
        ))}
      {every[0] && (
        <Numbers
          grid={
            every[Math.max(0, Math.min(every.length - 1, (state.layer.value - 1) * across + state.head.value - 1))]!
          }
        />
      )}
    </div>
  )
}
