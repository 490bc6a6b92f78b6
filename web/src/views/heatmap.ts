// The heat map: every weight a cell, a token beside every row and above every column. Columns of a right-to-left
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

const kMostNumbers = 500 // cells that have their weight written in them

const fitting = (label: Label, size: number, most: number): string =>
  shorten(shown(label), (part) => measure(part, size) <= most)

// Sizes that follow from the number of cells and the lengths of the labels.
function plan(grid: Grid, room: number, corner = 64) {
  const rows = grid.rows.length
  const columns = grid.columns.length
  const few = rows <= 16 && columns <= 20
  const most = Math.min(150, room * 0.34)
  const widest = (labels: Label[], size: number): number =>
    labels.length > 400 ? 0 : Math.max(0, ...labels.map((l) => Math.min(most, measure(shown(l), size))))
  const names = Math.max(corner, Math.ceil(widest(grid.rows, 13)) + 12)
  const fit = (room - names - 20) / columns
  let w = Math.min(few ? 58 : 30, Math.floor(fit))
  if (w < 15) w = columns <= 60 ? 15 : fit
  const h = rows <= 80 ? Math.min(few ? 32 : 28, Math.max(15, w)) : Math.min(w, 14)
  const size = Math.min(13, Math.min(w, h) * 0.86)
  const labelled = size >= 7
  const longest = labelled ? Math.ceil(widest(grid.columns, size)) : 0
  const turn = !labelled || longest <= w - 4 ? 0 : w >= 24 ? -45 : -90
  const over = turn === 0 ? 34 : Math.max(34, longest * Math.sin((-turn * Math.PI) / 180) + size + 4)
  return { w, h, size, labelled, turn, most, left: labelled ? names : corner, top: over, spare: turn === -45 ? longest * 0.72 : 4 }
}

export function heatmap(grid: Grid, room: number, tint: Tint, names: HeatmapNames): Scene {
  // The names of both sides stand in the corner.
  const corner = Math.ceil(Math.max(measure(`${names.columns} →`, 12), measure(`${names.rows} ↓`, 12))) + 14
  const p = plan(grid, room, corner)
  const rows = grid.rows.length
  const columns = grid.columns.length
  const mirror = mirrored(grid)
  // Turned labels of mirrored columns lean the other way and need their room at the other side.
  const x0 = p.left + (mirror && p.turn === -45 ? Math.max(0, p.spare - p.left) : 0)
  const y0 = p.top
  const xOf = (c: number): number => x0 + p.w * (mirror ? columns - 1 - c : c)
  const yOf = (r: number): number => y0 + p.h * r
  const width = p.w * columns
  const height = p.h * rows
  const numbers = p.w >= 30 && p.h >= 18 && rows * columns <= kMostNumbers

  const labels = (painter: Painter): void => {
    const { ink } = painter
    const fill = (l: Label): string => (l.mark ? ink.faint : ink.ink)
    const faint = { size: 12, fill: ink.faint, align: 'right' as const }
    painter.text(mirror ? `← ${names.columns}` : `${names.columns} →`, x0 - 8, y0 - 22, faint)
    painter.text(`${names.rows} ↓`, x0 - 8, y0 - 7, faint)
    if (!p.labelled) return
    grid.rows.forEach((l, r) =>
      painter.text(fitting(l, p.size, p.most), x0 - 8, yOf(r) + p.h / 2 + p.size * 0.35, { size: p.size, fill: fill(l), align: 'right' }),
    )
    grid.columns.forEach((l, c) => {
      const text = fitting(l, p.size, p.most)
      const x = xOf(c) + p.w / 2
      if (p.turn === 0) return painter.text(text, x, y0 - 8, { size: p.size, fill: fill(l), align: 'center' })
      const shift = p.turn === -90 ? p.size * 0.35 : p.size * 0.1
      painter.text(text, x + shift, y0 - 8, { size: p.size, fill: fill(l), turn: p.turn })
    })
  }

  const paint = (painter: Painter): void => {
    labels(painter)
    if (hasAbsent(grid)) painter.hatch(x0, y0, width, height)
    painter.cells({ weights: grid.weights, rows, columns, mirror, tint }, x0, y0, width, height)
    painter.rect(x0, y0, width, height, { stroke: painter.ink.rule })
    if (!numbers) return
    const signed = tint.low < 0
    for (let r = 0; r < rows; ++r) {
      for (let c = 0; c < columns; ++c) {
        const weight = grid.weights[r * columns + c]!
        if (!(Math.abs(weight) >= 0.045)) continue
        const digits = Math.abs(weight) >= 0.995 ? '1' : Math.abs(weight).toFixed(2).slice(1)
        const text = signed ? (weight < 0 ? '−' : '+') + digits : digits
        painter.text(text, xOf(c) + p.w / 2, yOf(r) + p.h / 2 + 4, { size: 11, fill: inkOn(tint.colour(weight)), align: 'center' })
      }
    }
  }

  // Bands around the row and the column, white in black, which is seen on every colour.
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
    if (inRow) mark(x0 - 5, yOf(row) + Math.min(2, p.h / 4), 3, Math.max(2, bh - 4))
    if (inColumn) mark(xOf(column) + Math.min(2, p.w / 4), y0 - 5, Math.max(2, bw - 4), 3)
  }

  return {
    width: x0 + width + Math.max(4, mirror ? 4 : p.spare),
    height: y0 + height + 4,
    rows,
    columns,
    mirror,
    paint,
    light,
    hit(x, y) {
      const c = Math.floor((x - x0) / p.w)
      const row = Math.floor((y - y0) / p.h)
      const inside = { row: row >= 0 && row < rows, column: c >= 0 && c < columns }
      if (!inside.row && !inside.column) return null
      const column = mirror ? columns - 1 - c : c
      // Beside the cells, on the labels, a whole row or column is meant.
      return { row: inside.row ? row : -1, column: inside.column ? column : -1 }
    },
    boxOf: ({ row, column }) => ({ x: column < 0 ? 0 : xOf(column), y: row < 0 ? 0 : yOf(row), w: p.w, h: p.h }),
  }
}

export const isShrunk = (grid: Grid, room: number): boolean => plan(grid, room).w * devicePixelRatio < 1 || plan(grid, room).h * devicePixelRatio < 1

export function legend(painter: Painter, tint: Tint, x: number, y: number, name: string): void {
  const width = 180
  painter.text(name, x, y + 10, { size: 12, fill: painter.ink.faint })
  const left = Math.round(x + measure(name, 12) + 10)
  for (let i = 0; i < width; ++i) {
    const weight = tint.low + ((tint.high - tint.low) * i) / (width - 1)
    painter.rect(left + i, y, 1, 12, { fill: css(tint.colour(weight)) })
  }
  for (const share of [0, 0.5, 1]) {
    const weight = tint.low + (tint.high - tint.low) * share
    const text = tint.low < 0 ? (weight > 0 ? '+' : '') + weight.toFixed(2) : String(weight)
    painter.text(text, left + width * share, y + 25, { size: 11, fill: painter.ink.faint, align: 'center' })
  }
}
