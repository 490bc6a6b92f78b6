// Values computed from the state and the answers: the grid that every view draws, the second grid, and their titles.
import { computed, signal } from '@preact/signals'
import { t, type Key } from '../i18n'
import { heaviest, mirrored, percent, type Grid } from '../model/grid'
import { kinds, type AttentionRecord, type Axis, type Kind, type RecordImage } from '../model/record'
import { attentionOf, reduce } from '../model/reduce'
import { kFormTraits, type Task } from '../model/task'
import { isolated, shown } from '../model/text'
import type { Cells } from '../views/light'
import { first, form, second, task } from './answers'
import { hovered, kViews, state, type View } from './store'

const chosen = (records: (AttentionRecord | null)[] | undefined): AttentionRecord | null =>
  records?.[Math.min(state.rank.value, records.length) - 1] ?? null

export const record = computed(() => chosen(first.value?.records))
export const otherRecord = computed(() => second.value?.records[0] ?? null)

// The attention kind that was asked for; else one between two texts; else one that is not a text's to itself.
export const kind = computed<Kind>(() => {
  const there = record.value?.attentions ?? []
  if (there.some((a) => a.kind === state.kind.value)) return state.kind.value
  const across = there.filter(({ kind: k }) => kinds[k].columns !== 'before' && kinds[k].rows !== kinds[k].columns)
  return (across.find((a) => a.rowLabels.length === 0) ?? across[0] ?? there[0])?.kind ?? 'cross'
})
export const attention = computed(() => (record.value ? attentionOf(record.value, kind.value) : undefined))

const reduced = (from: AttentionRecord | null): Grid | null =>
  from &&
  reduce(from, {
    kind: kind.value,
    how: state.how.value,
    layer: state.layer.value,
    head: state.head.value,
    words: state.words.value,
  })

export const grid = computed(() => reduced(record.value))
export const otherGrid = computed(() => reduced(otherRecord.value))

// The attention of words on a picture.
const onPicture = (from: AttentionRecord | null): Grid | null =>
  from?.image
    ? reduce(from, {
        kind: 'cross',
        how: state.how.value,
        layer: state.layer.value,
        head: state.head.value,
        words: state.words.value,
      })
    : null
export const lightGrid = computed(() => onPicture(record.value))
export const otherLightGrid = computed(() => onPicture(otherRecord.value))
export const cellsOfRow = (g: Grid, { rows, columns }: RecordImage, row: number): Cells => ({
  rows,
  columns,
  weights: g.weights.subarray(row * g.columns.length, (row + 1) * g.columns.length),
})

// The row that is selected until somebody selects another, so that no view is empty: of the longer half of the words, which
// mean more than short ones, the one with the largest weight. None while the output is written.
export const startRow = computed(() => {
  const g = grid.value
  if (!g || first.value?.live || g.rowSide !== 'target' || record.value?.image) return -1
  let best = -1
  let most = 0
  const width = g.columns.length
  const lengths = g.rows.map(({ text, mark }) => (mark || !kLetter.test(text) ? 0 : text.trim().length))
  const median = lengths.filter((n) => n > 0).sort((a, b) => b - a)
  const long = median[Math.floor((median.length - 1) / 2)] ?? 1
  g.rows.forEach((_, row) => {
    if (lengths[row]! < long) return
    for (let c = 0; c < width; ++c) {
      const weight = g.weights[row * width + c]!
      if (weight > most && !g.columns[c]!.mark) [best, most] = [row, weight]
    }
  })
  return best
})
const kLetter = /[\p{L}\p{N}]/u

// The row that was picked, or the one that is selected from the start.
export const pickedRow = computed(() => {
  const rows = grid.value?.rows.length ?? 0
  return state.row.value >= 0 && state.row.value < rows ? state.row.value : startRow.value
})

// The active row: the one pointed at, else the one picked.
export const activeRow = computed(() => {
  const rows = grid.value?.rows.length ?? 0
  const row = hovered.value.row >= 0 ? hovered.value.row : pickedRow.value
  return row < rows ? row : -1
})

export const dark = signal(false)

// The views that fit: steps, beams and edits are of text that is written; a single head needs no view of heads.
const kViewsOfMaps: readonly View[] = ['heatmap', 'flow', 'heads']
const kViewsOfText: readonly View[] = kViews.filter((v) => v !== 'pictures')
const kViewsOfPictures: readonly View[] = ['pictures', 'heads', 'tree', 'compare', 'diagnostics']
export const isWritten = computed(() => kFormTraits[form.value].writes)
export const views = computed(() => {
  const a = attention.value
  const fit = form.value === 'caption' ? kViewsOfPictures : isWritten.value ? kViewsOfText : kViewsOfMaps
  return fit.filter((v) => v !== 'heads' || !a || a.layers * a.heads > 1)
})
export const view = computed<View>(() => (views.value.includes(state.view.value) ? state.view.value : views.value[0]!))

// How a task calls the rows or columns of an attention.
const kSides: Record<Task, Record<Axis, Key>> = {
  sequence: { source: 'source', target: 'target', before: 'before' },
  summarise: { source: 'classify.text', target: 'summarise.summary', before: 'before' },
  dialogue: { source: 'chat.context', target: 'chat.reply', before: 'before' },
  classify: { source: 'classify.text', target: 'classify.hops', before: 'before' },
  answer: { source: 'passage', target: 'question', before: 'before' },
  caption: { source: 'caption.picture', target: 'caption.caption', before: 'before' },
}
export const sideName = (axis: Axis): string => t(kSides[task.value][axis])

export function titleOf(grid: Grid): string {
  const r = grid.reduction
  const parts = [t(`kind.${r.kind}`)]
  const a = attention.value
  const several = !a || a.layers * a.heads > 1
  if (r.how === 'one') {
    if (several) parts.push(t('title.one', { layer: r.layer, head: r.head }))
  } else if (several) {
    const how = r.how === 'max' ? 'title.max' : 'title.mean'
    if (r.layer > 0 && a && a.layers > 1) parts.push(t('title.layer', { layer: r.layer }))
    if (r.heads * r.layers > 1)
      parts.push(r.layers > 1 ? t(`${how}.layers`, { heads: r.heads, layers: r.layers }) : t(how, { heads: r.heads }))
  }
  if (r.how === 'rollout') parts.push(t('title.rollout', { layers: r.through }))
  if (r.reads) parts.push(t('title.reads'))
  if (r.best) parts.push(t('title.best'))
  if (r.words) parts.push(t('title.words'))
  return parts.join(t('comma'))
}

// A column of a grid in a sentence: a word, or a place in the picture that is captioned.
function columnName(grid: Grid, column: number): string {
  const image = grid.reduction.kind === 'cross' ? record.value?.image : undefined
  if (!image || column >= image.rows * image.columns) return isolated(shown(grid.columns[column]!))
  const [row, place] = [Math.floor(column / image.columns) + 1, (column % image.columns) + 1]
  return isolated(t('say.place', { row, column: place }))
}

// One sentence about a cell, row or column, for the status line and for screen readers.
export function describe(grid: Grid, row: number, column: number, difference = false): string {
  const width = grid.columns.length
  const rowText = row >= 0 && grid.rows[row] ? isolated(shown(grid.rows[row])) : ''
  const columnText = column >= 0 && grid.columns[column] ? columnName(grid, column) : ''
  if (rowText && columnText) {
    const weight = grid.weights[row * width + column]!
    if (Number.isNaN(weight)) return t('say.masked', { row: rowText, column: columnText })
    const value = difference ? (weight > 0 ? '+' : '') + weight.toFixed(3) : percent(weight)
    return t(difference ? 'say.change' : 'say.cell', { row: rowText, column: columnText, weight: value })
  }
  if (rowText) {
    const most = heaviest(grid, row)
    const note = grid.notes[row]
    const attended =
      most < 0
        ? ''
        : t('say.most', {
            column: columnName(grid, most),
            weight: percent(grid.weights[row * width + most]!),
          })
    return note
      ? t('say.step', { row: rowText, p: percent(note.probability), attention: attended })
      : `${rowText}: ${attended}`
  }
  if (columnText) {
    let sum = 0
    for (let r = 0; r < grid.rows.length; ++r) sum += grid.weights[r * width + column]! || 0
    return t('say.column', { column: columnText, sum: sum.toFixed(2) })
  }
  return ''
}

export const isMirrored = computed(() => (grid.value ? mirrored(grid.value) : false))
