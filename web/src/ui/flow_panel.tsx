// The flow of attention, how much it hides, and attention over time.
import { useMemo } from 'preact/hooks'
import { t } from '../i18n'
import { percent, type Grid } from '../model/grid'
import { pruneLinks, meanMove, type PrunedLinks } from '../model/links'
import { grid, titleOf } from '../state/derived'
import { phrasesOf, type Phrases } from '../model/phrases'
import { set, state, type Place } from '../state/store'
import { transportScene } from '../views/transport'
import { flow } from '../views/flow'
import type { Scene } from '../views/scene'
import { CanvasView, useRoom } from './canvas_view'
import { Help } from './help'
import { Numbers } from './numbers'
import { useExportedPicture } from './exported_picture'

const kLongestFilm = 160
const kManyRows = 24 // of a sentence whose links need thinning

// How much of each row's attention is not drawn, unless somebody has set it.
const usualHide = (g: Grid): number => (g.rows.length > kManyRows ? 0.3 : 0.1)

function statement(pruned: PrunedLinks): string {
  const out = pruned.links - pruned.drawn.length
  return out === 0 ? t('flow.all') : t('flow.hides', { share: percent(pruned.hiddenShare), out, links: pruned.links })
}

// The flow and, below it, attention over time, as one picture.
function stacked(a: Scene, b: Scene | null): Scene {
  if (!b) return a
  return {
    ...a,
    width: Math.max(a.width, b.width),
    height: a.height + 24 + b.height,
    paint(painter) {
      a.paint(painter)
      painter.group(0, a.height + 24, () => b.paint(painter))
    },
  }
}

type Move = (place: Place) => Place
const kSame: Move = (place) => place
function placesOf(phrases: Phrases | null): [Move, Move] {
  if (!phrases) return [kSame, kSame]
  const { ofRow, ofColumn } = phrases
  const within = (map: number[], i: number): number => (i < 0 ? -1 : (map[i] ?? -1))
  return [
    ({ row, column }) => ({
      row: row < 0 ? -1 : ofRow.indexOf(row),
      column: column < 0 ? -1 : ofColumn.indexOf(column),
    }),
    ({ row, column }) => ({ row: within(ofRow, row), column: within(ofColumn, column) }),
  ]
}

export function FlowPanel() {
  const whole: Grid = grid.value!
  const groups = state.phrases.value < 0 ? whole.rows.length > kManyRows : state.phrases.value === 1
  const phrases = useMemo(() => (groups ? phrasesOf(whole) : null), [whole, groups])
  const g = phrases?.grid ?? whole
  const [pane, room] = useRoom<HTMLDivElement>()
  const hide = state.hide.value < 0 ? usualHide(g) : state.hide.value
  const pruned = useMemo(() => pruneLinks(g, hide), [g, hide])
  const scene = useMemo(() => (room > 0 ? flow(g, pruned, room) : null), [g, pruned, room])
  const short = g.rows.length <= kLongestFilm && g.columns.length <= kLongestFilm && g.rows.length > 1
  const over = useMemo(() => (room > 0 && short ? transportScene(g, room) : null), [g, room, short])
  const title = titleOf(g) + (groups ? `${t('comma')}${t('title.phrases')}` : '')
  // Positions in the picture are those of phrases, in all other views those of words.
  const [toShared, fromShared] = useMemo(() => placesOf(phrases), [phrases])
  const says = statement(pruned)
  useExportedPicture(scene && { title, note: says, scene: stacked(scene, over), tint: null, grids: [g] }, [
    scene,
    over,
    title,
  ])
  return (
    <div ref={pane}>
      <div class="fields">
        <label class="field wide">
          <span>
            {t('flow.hide')} {percent(hide)}
          </span>
          <input
            type="range"
            min={0}
            max={0.5}
            step={0.01}
            value={hide}
            onInput={(event) => set({ hide: Number((event.target as HTMLInputElement).value) })}
          />
        </label>
        <span class="field">
          <label>
            <input
              type="checkbox"
              checked={groups}
              onChange={(event) => set({ phrases: (event.target as HTMLInputElement).checked ? 1 : 0 })}
            />
            <span>{t('flow.phrases')}</span>
          </label>
          <Help term={t('flow.phrases')} text={t('flow.phrases.help')} />
        </span>
        <span class="faint">{says}</span>
      </div>
      {scene && (
        <CanvasView scene={scene} label={`${t('view.flow')}: ${title}`} toShared={toShared} fromShared={fromShared} />
      )}
      {over && (
        <details class="over-time" open={g.rows.length <= kManyRows}>
          <summary>{t('transport')}</summary>
          <p class="faint">{t('transport.about', { places: meanMove(g).toFixed(1) })}</p>
          <CanvasView scene={over} label={`${t('transport')}: ${title}`} toShared={toShared} fromShared={fromShared} />
        </details>
      )}
      <Numbers grid={whole} />
    </div>
  )
}
