// Compares two answers: of two models, or of one model with and without edits. Shows both maps, their difference over the
// common rows and columns, and the change of the probabilities.
import { useEffect, useMemo } from 'preact/hooks'
import type { ModelInfo } from '../api/types'
import { t } from '../i18n'
import { difference, type Difference, type Pairs } from '../model/compare'
import { hasAbsent, percent, type Grid } from '../model/grid'
import { formOf } from '../model/task'
import { shown } from '../model/text'
import { first, form, isChanged, modelInfo, modelName, models, opened, second, secondFailure } from '../state/answers'
import { dark, grid, otherGrid, sideName, titleOf } from '../state/derived'
import { set, state, type Place } from '../state/store'
import { changeTint, largestOf, weightTint } from '../views/colour'
import { heatmap } from '../views/heatmap'
import { CanvasView, inkNow, useRoom } from './canvas_view'
import { Legend } from './legend'
import { exportedPicture, useExportedPicture } from './exported_picture'

// Maps positions of the first grid to those of the second, or of the difference, and back.
function mapping(rows: Pairs, columns: Pairs, side: 'second' | 'both') {
  const find = (pairs: Pairs, index: number, from: 0 | 1): number => {
    if (index < 0) return -1
    if (side === 'both') return from === 0 ? pairs.findIndex(([a]) => a === index) : (pairs[index]?.[0] ?? -1)
    return pairs.find((p) => p[from] === index)?.[from === 0 ? 1 : 0] ?? -1
  }
  const map =
    (from: 0 | 1) =>
    (place: Place): Place => ({ row: find(rows, place.row, from), column: find(columns, place.column, from) })
  return { fromShared: map(0), toShared: map(1) }
}

function Maps({ a, b }: { a: Grid; b: Grid }) {
  const [pane, room] = useRoom<HTMLDivElement>()
  const [palette, scale, isDark] = [state.palette.value, state.scale.value, dark.value]
  const tint = useMemo(() => weightTint(palette, scale, largestOf([a, b]), isDark), [a, b, palette, scale, isDark])
  const d = useMemo(() => difference(a, b), [a, b])
  const changes = useMemo(() => d && changeTint(d.largest, inkNow()), [d, isDark])
  const names = { rows: sideName(a.rowSide), columns: sideName(a.columnSide) }
  const half = room >= 760 ? (room - 24) / 2 : room
  const scenes = useMemo(() => {
    if (room === 0) return null
    const draw = (g: Grid, space: number, how = tint) => heatmap(g, space, how, names)
    return { a: draw(a, half), b: draw(b, half), d: d && changes && draw(d.grid, room, changes) }
  }, [a, b, d, changes, room, tint, names.rows])
  const toSecond = useMemo(() => (d ? mapping(d.rows, d.columns, 'second') : {}), [d])
  const toBoth = useMemo(() => (d ? mapping(d.rows, d.columns, 'both') : {}), [d])
  const about = d ? aboutDifference(d, a) : ''
  useExportedPicture(
    scenes?.d
      ? {
          title: `${t('compare.difference')}: ${titleOf(a)}`,
          note: about,
          scene: scenes.d,
          tint: changes,
          grids: [d!.grid],
        }
      : null,
    [scenes],
  )
  return (
    <div ref={pane}>
      {scenes && (
        <>
          <Legend tint={tint} masked={hasAbsent(a) || hasAbsent(b)} />
          <div class="two">
            <section>
              <h3>
                {t('compare.first')} <span class="faint">{first.value?.model}</span>
              </h3>
              <CanvasView scene={scenes.a} label={t('compare.first')} />
            </section>
            <section>
              <h3>
                {t('compare.second')} <span class="faint">{second.value?.model}</span>
              </h3>
              <CanvasView scene={scenes.b} label={t('compare.second')} {...toSecond} />
            </section>
          </div>
          <h3>{t('compare.difference')}</h3>
          {scenes.d && changes ? (
            <>
              <p class="faint">{about}</p>
              <Legend tint={changes} masked={false} />
              <CanvasView scene={scenes.d} label={t('compare.difference')} {...toBoth} />
            </>
          ) : (
            <p>{t('compare.nothing')}</p>
          )}
          {d && <Probabilities a={a} b={b} rows={d.rows} />}
        </>
      )}
    </div>
  )
}

function aboutDifference(d: Difference, a: Grid): string {
  return t('compare.about', {
    rows: d.rows.length,
    allRows: a.rows.length,
    columns: d.columns.length,
    allColumns: a.columns.length,
    moved: percent(d.moved),
  })
}

function Probabilities({ a, b, rows }: { a: Grid; b: Grid; rows: Pairs }) {
  if (a.notes.length === 0 || b.notes.length === 0) return null
  return (
    <div class="numbers" tabIndex={0} role="region" aria-label={t('compare.probabilities')}>
      <table>
        <caption>{t('compare.probabilities')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('compare.token')}</th>
            <th scope="col">{t('compare.first')}</th>
            <th scope="col">{t('compare.second')}</th>
            <th scope="col">{t('compare.change')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, 500).map(([ra, rb]) => {
            const p = a.notes[ra]!.probability
            const q = b.notes[rb]!.probability
            return (
              <tr>
                <th scope="row" dir="auto" lang="">
                  {shown(a.rows[ra]!)}
                </th>
                <td>{percent(p)}</td>
                <td>{percent(q)}</td>
                <td>{changeText(p, q)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

export function changeText(p: number, q: number): string {
  const change = 100 * (q - p)
  if (Math.abs(change) < 0.05) return '0.0'
  return (change > 0 ? '+' : '−') + Math.abs(change).toFixed(1)
}

const directionOf = (m: ModelInfo): string => `${m.source_language ?? '?'} → ${m.target_language ?? '?'}`

// Says so if the two models are of different languages.
function otherLanguages(): string {
  const a = modelInfo.value
  const b = models.value.find((m) => m.name === state.second.value)
  if (!a || !b || opened.value || directionOf(a) === directionOf(b)) return ''
  return t('compare.languages', { first: directionOf(a), second: directionOf(b) })
}

export function ComparePanel() {
  const a = grid.value!
  const b = otherGrid.value
  // A record of a file is compared with the present answer of a model.
  const none = opened.value ? ([['', t('compare.nothing.yet')]] as const) : []
  const options = [
    ...none,
    ...models.value
      .filter((m) => formOf(m.task) === form.value)
      .map((m) => [m.name, m.name === modelName.value && !opened.value ? t('compare.same') : m.name] as const),
  ]
  const differ = otherLanguages()
  useEffect(() => {
    if (!b) exportedPicture.value = null
  }, [b])
  return (
    <div>
      <div class="fields">
        <label class="field">
          <span>{t('compare.with')}</span>
          <select onChange={(event) => set({ second: (event.target as HTMLSelectElement).value })}>
            {options.map(([key, name]) => (
              <option
                key={key}
                value={key}
                selected={key === (state.second.value || (opened.value ? '' : modelName.value))}
              >
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      {differ && <p class="note">{differ}</p>}
      {secondFailure.value && <p class="note">{secondFailure.value.message}</p>}
      {b ? <Maps a={a} b={b} /> : <p class="faint">{isChanged.value ? t('waiting') : t('compare.none')}</p>}
    </div>
  )
}
