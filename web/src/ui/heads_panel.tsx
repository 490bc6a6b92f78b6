// Layers and heads side by side. A head can be shown alone, or switched off to see the output without it.
import { useMemo } from 'preact/hooks'
import { t } from '../i18n'
import { hasAbsent, type Grid } from '../model/grid'
import { everyHead } from '../model/reduce'
import { isOff, toggleHead } from '../model/whatif'
import { opened } from '../state/answers'
import { attention, dark, isWritten, kind, record } from '../state/derived'
import { set, state } from '../state/store'
import { largestOf, weightTint, type Tint } from '../views/colour'
import { headMap, headsSheet } from '../views/heads'
import { CanvasView } from './canvas_view'
import { Legend } from './legend'
import { Numbers } from './numbers'
import { useExportedPicture } from './exported_picture'

const nameOf = (g: Grid): string => t('title.one', { layer: g.reduction.layer, head: g.reduction.head })

function Head({ grid, tint }: { grid: Grid; tint: Tint }) {
  const { layer, head } = grid.reduction
  const scene = useMemo(() => headMap(grid, tint), [grid, tint])
  const off = isOff(state.edits.value, kind.value, layer, head)
  const open = (): void => set({ how: 'one', layer, head, view: 'heatmap' })
  return (
    <li class={off ? 'head off' : 'head'}>
      <button type="button" class="open" onClick={open} aria-label={t('heads.open', { layer, head })}>
        {t('head')} {head}
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

export function HeadsPanel() {
  const r = record.value!
  const words = state.words.value
  const grids = useMemo(() => everyHead(r, kind.value, words), [r, kind.value, words])
  const [palette, scale, isDark] = [state.palette.value, state.scale.value, dark.value]
  const tint = useMemo(() => weightTint(palette, scale, largestOf(grids), isDark), [grids, palette, scale, isDark])
  const across = attention.value?.heads ?? 1
  const scene = useMemo(() => headsSheet(grids, across, tint, nameOf), [grids, across, tint])
  const title = `${t(`kind.${kind.value}`)}${t('comma')}${t('view.heads')}`
  useExportedPicture({ title, note: '', scene, tint, grids }, [scene, title])
  return (
    <div>
      <p class="faint">{t(opened.value || !isWritten.value ? 'heads.saved' : 'heads.about')}</p>
      <Legend tint={tint} masked={grids.some(hasAbsent)} />
      {Array.from({ length: grids.length / across }, (_, layer) => (
        <section>
          <h3>
            {t('layer')} {layer + 1}
          </h3>
          <ul class="heads">
            {grids.slice(layer * across, (layer + 1) * across).map((g) => (
              <Head key={nameOf(g)} grid={g} tint={tint} />
            ))}
          </ul>
        </section>
      ))}
      {grids[0] && (
        <Numbers
          grid={
            grids[Math.max(0, Math.min(grids.length - 1, (state.layer.value - 1) * across + state.head.value - 1))]!
          }
        />
      )}
    </div>
  )
}
