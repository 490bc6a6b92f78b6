// The heat map: a cell for every weight, a token beside every row and above every column. Columns of a right-to-left
// sentence run from the right.
import { hasAbsent, mirrored, type Grid } from '../model/grid'
import { shorten, shown, type Label } from '../model/text'
import type { Place } from '../state/store'
import type { Tint } from './colour'
import { inkOn, css } from './colour'
import { measure, type Painter } from './painter'
import type { Scene } from './scene'

export interface HeatmapNames {
  rows: string
  columns: string
}

const kMaxNumbers = 500 // of cells with their weight written inside

const fitting = (label: Label, size: number, most: number): string =>
  shorten(shown(label), (part) => measure(part, size) <= most)

const kMinCell = 13 // px, where a label of 11 px has room
const kMaxCell = 96
const kFitted = 640 // px of the height of a map that is fitted
const kMaxLabelled = 90_000 // cells of a map with a label for every token: 16 million pixels, what a canvas may have

// The sizes, which depend on the number of cells and the lengths of the labels. A map that is larger than the room is
// scrolled; one of more than kMaxLabelled cells is fitted into the room, with a label for every few tokens. `zoom`
// enlarges the cells; 0 fits the map into the room.
function plan(grid: Grid, room: number, zoom: number, corner = 64) {
  const rows = grid.rows.length
  const columns = grid.columns.length
  const few = rows <= 16 && columns <= 20
  const large = rows * columns > kMaxLabelled
  const most = Math.min(150, room * 0.34)
  const widest = (labels: Label[], size: number): number =>
    labels.reduce((w, l) => Math.max(w, Math.min(most, measure(shown(l), size))), 0)
  const names = Math.max(corner, Math.ceil(widest(grid.rows, 13)) + 12)
  const fit = (room - names - 20) / columns
  let w = large ? Math.min(kMinCell, fit) : Math.min(few ? 66 : 30, Math.max(kMinCell, Math.floor(fit)))
  let h = large ? w : Math.min(few ? 36 : 28, Math.max(kMinCell, w))
  if (zoom === 0) [w, h] = [Math.min(w, fit), Math.min(h, fit, kFitted / rows)]
  else {
    // A canvas has a limit.
    const most = Math.min(kMaxCell / w, Math.sqrt((kMaxLabelled * kMinCell ** 2) / (rows * columns * w * h)))
    const times = Math.max(1, Math.min(zoom, most))
    ;[w, h] = [w * times, h * times]
  }
  const least = Math.min(w, h)
  const size = least < kMinCell ? 11 : Math.min(13, least * 0.86)
  const every = least < kMinCell ? Math.ceil(kMinCell / least) : 1 // tokens per label
  const longest = Math.ceil(widest(grid.columns, size))
  // A special token, which is at an end, may extend beyond its column.
  const fits = grid.columns.every((l) => measure(shown(l), size) <= (l.mark ? w * 1.5 : w - 4))
  const turn = fits ? 0 : w >= 24 ? -45 : -90
  const over = turn === 0 ? 34 : Math.max(34, longest * Math.sin((-turn * Math.PI) / 180) + size + 12)
  return { w, h, size, every, turn, most, left: names, top: over, spare: turn === -45 ? longest * 0.72 : 4 }
}

export function heatmap(grid: Grid, room: number, tint: Tint, names: HeatmapNames, zoom = 1): Scene {
  // The names of both sentences are in the corner.
  const corner = Math.ceil(Math.max(measure(`${names.columns} →`, 12), measure(`${names.rows} ↓`, 12))) + 14
  const p = plan(grid, room, zoom, corner)
  const rows = grid.rows.length
  const columns = grid.columns.length
  const mirror = mirrored(grid)
  // Rotated labels of mirrored columns slant the other way and need room on the other side.
  const x0 = p.left + (mirror && p.turn === -45 ? Math.max(0, p.spare - p.left) : 0)
  const y0 = p.top
  const xOf = (c: number): number => x0 + p.w * (mirror ? columns - 1 - c : c)
  const yOf = (r: number): number => y0 + p.h * r
  const width = p.w * columns
  const height = p.h * rows
  const numbers = p.w >= 30 && p.h >= 18 && rows * columns <= kMaxNumbers

  const fill = (painter: Painter, l: Label): string => (l.mark ? painter.ink.faint : painter.ink.ink)
  const paintCorner = (painter: Painter): void => {
    const faint = { size: 12, fill: painter.ink.faint, align: 'right' as const }
    painter.text(mirror ? `← ${names.columns}` : `${names.columns} →`, x0 - 8, y0 - 22, faint)
    painter.text(`${names.rows} ↓`, x0 - 8, y0 - 7, faint)
  }
  const paintLeft = (painter: Painter): void =>
    grid.rows.forEach((l, r) => {
      if (r % p.every !== 0 || (r > 0 && rows - r < p.every)) return
      const y = yOf(r) + (p.h * p.every) / 2 + p.size * 0.35
      painter.text(fitting(l, p.size, p.most), x0 - 8, y, { size: p.size, fill: fill(painter, l), align: 'right' })
    })
  const paintTop = (painter: Painter): void =>
    grid.columns.forEach((l, c) => {
      if (c % p.every !== 0 || (c > 0 && columns - c < p.every)) return
      const text = fitting(l, p.size, p.most)
      const x = xOf(c) + p.w / 2
      if (p.turn === 0) return painter.text(text, x, y0 - 10, { size: p.size, fill: fill(painter, l), align: 'center' })
      const shift = p.turn === -90 ? p.size * 0.35 : p.size * 0.1
      painter.text(text, x + shift, y0 - 10, { size: p.size, fill: fill(painter, l), turn: p.turn })
    })

  // Hairlines between the cells guide the eye to the labels.
  const lines = (): string => {
    let d = ''
    for (let r = 1; r < rows; ++r) d += `M${x0} ${y0 + p.h * r}h${width}`
    for (let c = 1; c < columns; ++c) d += `M${x0 + p.w * c} ${y0}v${height}`
    return d
  }

  const paint = (painter: Painter): void => {
    for (const part of [paintCorner, paintLeft, paintTop]) part(painter)
    if (hasAbsent(grid)) painter.hatch(x0, y0, width, height)
    painter.cells({ weights: grid.weights, rows, columns, mirror, tint }, x0, y0, width, height)
    if (p.every === 1) painter.path(lines(), { stroke: painter.ink.rule, width: 0.5, alpha: 0.6 })
    painter.rect(x0, y0, width, height, { stroke: painter.ink.rule })
    if (!numbers) return
    const signed = tint.low < 0
    for (let r = 0; r < rows; ++r) {
      for (let c = 0; c < columns; ++c) {
        const weight = grid.weights[r * columns + c]!
        if (!(Math.abs(weight) >= Math.max(0.005, 0.05 * tint.high))) continue
        const digits = Math.abs(weight) >= 0.995 ? '1' : Math.abs(weight).toFixed(2).slice(1)
        const text = signed ? (weight < 0 ? '−' : '+') + digits : digits
        painter.text(text, xOf(c) + p.w / 2, yOf(r) + p.h / 2 + 4, {
          size: 11,
          fill: inkOn(tint.colour(weight)),
          align: 'center',
        })
      }
    }
  }

  // Bands around the row and the column: white within black is visible on every colour.
  const light = (painter: Painter, { row, column }: Place): void => {
    const band = (x: number, y: number, w: number, h: number, thick: number): void => {
      painter.rect(x, y, w, h, { stroke: '#000000', width: thick + 2, alpha: 0.55 })
      painter.rect(x, y, w, h, { stroke: '#ffffff', width: thick })
    }
    const bw = Math.max(p.w, 2)
    const bh = Math.max(p.h, 2)
    const inRow = row >= 0 && row < rows
    const inColumn = column >= 0 && column < columns
    if (inRow) band(x0, yOf(row), width, bh, 1)
    if (inColumn) band(xOf(column), y0, bw, height, 1)
    if (inRow && inColumn) band(xOf(column), yOf(row), bw, bh, 2)
    const mark = (x: number, y: number, w: number, h: number): void =>
      painter.rect(x, y, w, h, { fill: painter.ink.link, radius: 1.5 })
    // Where only some tokens have a label, the one pointed at has its own.
    const name = (label: Label, x: number, y: number, align: 'right' | 'left', turn: number): void => {
      const text = fitting(label, 12, p.most)
      const wide = measure(text, 12, true) + 8
      const fill = { fill: painter.ink.paper }
      if (turn === 0) painter.rect(x - wide + 4, y - 12, wide, 17, fill)
      else painter.rect(x - 12, y - wide + 4, 17, wide, fill)
      painter.text(text, x, y, { size: 12, fill: painter.ink.ink, bold: true, align, turn })
    }
    if (p.every > 1 && inRow) name(grid.rows[row]!, x0 - 8, yOf(row) + 4, 'right', 0)
    if (p.every > 1 && inColumn) name(grid.columns[column]!, xOf(column) + 4, y0 - 8, 'left', -90)
    if (inRow) mark(x0 - 5, yOf(row) + Math.min(2, p.h / 4), 3, Math.max(2, bh - 4))
    if (inColumn) mark(xOf(column) + Math.min(2, p.w / 4), y0 - 5, Math.max(2, bw - 4), 3)
  }

  return {
    width: x0 + width + Math.max(4, mirror ? 4 : p.spare),
    height: y0 + height + 4,
    rows,
    columns,
    mirror,
    ...(p.every === 1 && { edges: { left: x0 - 6, top: y0 - 6, paintLeft, paintTop, paintCorner } }),
    paint,
    light,
    hit(x, y) {
      const c = Math.floor((x - x0) / p.w)
      const row = Math.floor((y - y0) / p.h)
      const inside = { row: row >= 0 && row < rows, column: c >= 0 && c < columns }
      if (!inside.row && !inside.column) return null
      const column = mirror ? columns - 1 - c : c
      // Pointing at a label selects its whole row or column.
      return { row: inside.row ? row : -1, column: inside.column ? column : -1 }
    },
    boxOf: ({ row, column }) => ({ x: column < 0 ? 0 : xOf(column), y: row < 0 ? 0 : yOf(row), w: p.w, h: p.h }),
  }
}

export function isShrunk(grid: Grid, room: number, zoom: number): boolean {
  const { w, h } = plan(grid, room, zoom)
  return Math.min(w, h) * devicePixelRatio < 1
}

const kScale = 120 // px of the colours of a legend
export const legendWidth = (name: string): number => Math.ceil(measure(name, 12)) + 10 + kScale + 24

export function legend(painter: Painter, tint: Tint, x: number, y: number, name: string): void {
  const width = kScale
  painter.text(name, x, y + 10, { size: 12, fill: painter.ink.faint })
  const left = Math.round(x + measure(name, 12) + 10)
  for (let i = 0; i < width; ++i) painter.rect(left + i, y, 1, 12, { fill: css(tint.colour(tint.at(i / (width - 1)))) })
  painter.rect(left - 0.5, y - 0.5, width + 1, 13, { stroke: painter.ink.rule })
  for (const { share, name } of tint.ticks) {
    painter.rect(left + width * share - 0.5, y + 12, 1, 4, { fill: painter.ink.rule })
    painter.text(name, left + width * share, y + 26, { size: 11, fill: painter.ink.faint, align: 'center' })
  }
}
