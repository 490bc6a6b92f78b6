// Attention over time: steps from left to right, the attended sentence from top to bottom, and between two steps the
// optimal transport of one row's attention to the next.
import type { Grid } from '../model/grid'
import { transport } from '../model/links'
import { shorten, shown } from '../model/text'
import { measure, type Painter } from './painter'
import type { Scene } from './scene'

const kSize = 12
const kPost = 5 // the width of the bars of a step
const kMinMove = 0.005 // a smaller share of a row's attention is not drawn

export function transportScene(grid: Grid, room: number): Scene {
  const rows = grid.rows.length
  const columns = grid.columns.length
  const line = columns > 40 ? 14 : 20
  const names = Math.max(...grid.columns.map((l) => Math.min(110, measure(shown(l), kSize)))) + 14
  const widest = Math.max(...grid.rows.map((l) => Math.min(90, measure(shown(l), kSize)))) + 10
  // All steps fit into the room if that leaves enough for most words; else a step is as wide as the widest word.
  const fit = (room - names - 8) / rows
  const step = fit >= 42 ? Math.min(84, fit) : Math.max(26, widest)
  const top = 24
  const left = names + step / 2
  const xOf = (row: number): number => left + step * row
  const yOf = (column: number): number => top + line * (column + 0.5)
  const thick = (mass: number): number => mass * line * 0.92
  const f = (x: number): string => x.toFixed(1)
  const width = left + step * (rows - 0.5)

  // The ribbons that start or end at a column are stacked without overlap, and the stack is centred on the column's rail.
  const ribbons: { row: number; from: number; to: number; d: string }[] = []
  for (let row = 0; row + 1 < rows; ++row) {
    const moves = transport(grid, row, row + 1)
    const from = new Map<number, number>()
    const to = new Map<number, number>()
    for (const m of moves) {
      from.set(m.from, (from.get(m.from) ?? yOf(m.from)) - thick(m.mass) / 2)
      to.set(m.to, (to.get(m.to) ?? yOf(m.to)) - thick(m.mass) / 2)
    }
    for (const m of moves) {
      const h = thick(m.mass)
      const a = from.get(m.from)!
      const b = to.get(m.to)!
      from.set(m.from, a + h)
      to.set(m.to, b + h)
      if (m.mass < kMinMove) continue
      const x = xOf(row) + kPost / 2
      const end = xOf(row + 1) - kPost / 2
      const middle = f((x + end) / 2)
      const d = `M${f(x)} ${f(a)}C${middle} ${f(a)} ${middle} ${f(b)} ${f(end)} ${f(b)}v${h.toFixed(2)}C${middle} ${f(b + h)} ${middle} ${f(a + h)} ${f(x)} ${f(a + h)}Z`
      ribbons.push({ row, from: m.from, to: m.to, d })
    }
  }

  const posts = (painter: Painter, row: number): void => {
    for (let c = 0; c < columns; ++c) {
      const h = thick(grid.weights[row * columns + c]! || 0)
      if (h > 0.3) painter.rect(xOf(row) - kPost / 2, yOf(c) - h / 2, kPost, h, { fill: painter.ink.link })
    }
  }

  return {
    width,
    height: top + line * columns + 6,
    rows,
    columns,
    mirror: false,
    paint(painter) {
      const { ink } = painter
      grid.columns.forEach((l, c) => {
        painter.rect(names, yOf(c) - 0.5, width - names, 1, { fill: ink.rule, alpha: 0.7 })
        const text = shorten(shown(l), (part) => measure(part, kSize) <= 110)
        painter.text(text, names - 8, yOf(c) + 4, { size: kSize, fill: l.mark ? ink.faint : ink.ink, align: 'right' })
      })
      for (const r of ribbons) painter.path(r.d, { fill: ink.link, alpha: r.from === r.to ? 0.22 : 0.45 })
      grid.rows.forEach((l, row) => {
        posts(painter, row)
        const text = shorten(shown(l), (part) => measure(part, kSize) <= Math.min(90, step - 4))
        painter.text(text, xOf(row), 14, { size: kSize, fill: l.mark ? ink.faint : ink.ink, align: 'center' })
      })
    },
    light(painter, { row, column }) {
      if (row >= 0)
        painter.rect(xOf(row) - step / 2 + 1, 0, step - 2, top + line * columns, {
          stroke: painter.ink.link,
          width: 1.5,
          radius: 4,
        })
      if (column >= 0)
        painter.rect(0, yOf(column) - line / 2, width, line, { stroke: painter.ink.link, width: 1.5, radius: 4 })
      for (const r of ribbons) {
        if (r.row === row || r.row + 1 === row || (row < 0 && (r.from === column || r.to === column)))
          painter.path(r.d, { fill: painter.ink.link, alpha: 0.5 })
      }
    },
    hit(x, y) {
      const row = Math.round((x - left) / step)
      const column = Math.floor((y - top) / line)
      const inRow = x >= names && row >= 0 && row < rows
      const inColumn = column >= 0 && column < columns
      if (!inRow && !inColumn) return null
      return { row: inRow ? row : -1, column: inColumn ? column : -1 }
    },
    boxOf: ({ row, column }) => ({
      x: row < 0 ? 0 : xOf(row) - step / 2,
      y: column < 0 ? 0 : yOf(column) - line / 2,
      w: step,
      h: line,
    }),
  }
}
