// The small map of a head, with the words of both axes where they fit, and the picture of all heads for export.
import { hasAbsent, mirrored, type Grid } from '../model/grid'
import { shorten, shown, type Label } from '../model/text'
import type { Tint } from './colour'
import { measure, type Painter } from './painter'
import type { Scene } from './scene'

const kLabelled = 11 // px of a cell beside which a word can be read
const kLongest = 56 // px of a word
const kLargest = 44 // px of a cell

const fitting = (label: Label, size: number): string => shorten(shown(label), (part) => measure(part, size) <= kLongest)

export function headMap(grid: Grid, tint: Tint, room: number): Scene {
  const rows = grid.rows.length
  const columns = grid.columns.length
  const most = Math.max(rows, columns)
  const longest = (labels: Label[]): number =>
    Math.ceil(Math.max(...labels.map((l) => Math.min(kLongest, measure(shown(l), 11))))) + 6
  const withWords = Math.min(kLargest, (room - longest(grid.rows)) / most)
  const labelled = withWords >= kLabelled
  const cell = labelled ? withWords : Math.min(kLargest, room / most)
  const [x0, y0] = labelled ? [longest(grid.rows), longest(grid.columns)] : [0, 0]
  const width = cell * columns
  const height = cell * rows
  const mirror = mirrored(grid)
  const xOf = (c: number): number => x0 + cell * (mirror ? columns - 1 - c : c)
  const yOf = (r: number): number => y0 + cell * r
  const words = (painter: Painter): void => {
    const style = (l: Label) => ({ size: 11, fill: l.mark ? painter.ink.faint : painter.ink.ink })
    grid.rows.forEach((l, r) =>
      painter.text(fitting(l, 11), x0 - 4, yOf(r) + cell / 2 + 4, { ...style(l), align: 'right' }),
    )
    grid.columns.forEach((l, c) =>
      painter.text(fitting(l, 11), xOf(c) + cell / 2 + 4, y0 - 4, { ...style(l), turn: -90 }),
    )
  }
  // The words of a row and a column that have no room beside the map, over it.
  const tag = (painter: Painter, label: Label, x: number, y: number): void => {
    const text = fitting(label, 11)
    const wide = measure(text, 11) + 6
    const left = Math.max(0, Math.min(x, width - wide))
    const top = Math.max(0, Math.min(y, height - 15))
    painter.rect(left, top, wide, 15, { fill: painter.ink.paper, stroke: painter.ink.link, radius: 3 })
    painter.text(text, left + 3, top + 11, { size: 11, fill: painter.ink.ink })
  }
  return {
    width: x0 + width,
    height: y0 + height,
    rows,
    columns,
    mirror,
    paint(painter) {
      if (labelled) words(painter)
      if (hasAbsent(grid)) painter.hatch(x0, y0, width, height)
      painter.cells({ weights: grid.weights, rows, columns, mirror, tint }, x0, y0, width, height)
      painter.rect(x0 + 0.5, y0 + 0.5, width - 1, height - 1, { stroke: painter.ink.rule })
    },
    light(painter, { row, column }) {
      const side = Math.max(2, cell)
      const [inRow, inColumn] = [row >= 0 && row < rows, column >= 0 && column < columns]
      if (inRow) painter.rect(x0, yOf(row), width, side, { stroke: painter.ink.link })
      if (inColumn) painter.rect(xOf(column), y0, side, height, { stroke: painter.ink.link })
      if (labelled) return
      if (inRow) tag(painter, grid.rows[row]!, 2, yOf(row) - 17)
      if (inColumn) tag(painter, grid.columns[column]!, xOf(column) + side + 2, 2)
    },
    hit(x, y) {
      const c = Math.floor((x - x0) / cell)
      const row = Math.floor((y - y0) / cell)
      if (row < 0 || row >= rows || c < 0 || c >= columns) return null
      return { row, column: mirror ? columns - 1 - c : c }
    },
    boxOf: () => null,
  }
}

export function headsSheet(grids: Grid[], across: number, tint: Tint, nameOf: (grid: Grid) => string): Scene {
  const maps = grids.map((g) => headMap(g, tint, 240))
  const w = Math.max(90, ...maps.map((m) => m.width)) + 18
  const h = Math.max(...maps.map((m) => m.height)) + 38
  const lines = Math.ceil(maps.length / across)
  return {
    width: w * Math.min(across, maps.length),
    height: h * lines,
    rows: 0,
    columns: 0,
    mirror: false,
    paint(painter) {
      maps.forEach((map, i) => {
        const x = (i % across) * w
        const y = Math.floor(i / across) * h
        painter.text(nameOf(grids[i]!), x, y + 12, { size: 12, fill: painter.ink.ink })
        painter.group(x, y + 18, () => map.paint(painter))
      })
    },
    light: () => undefined,
    hit: () => null,
    boxOf: () => null,
  }
}
