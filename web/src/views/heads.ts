// The small map of a head, without labels, and the picture of all heads for export.
import { hasAbsent, mirrored, type Grid } from '../model/grid'
import type { Tint } from './colour'
import type { Scene } from './scene'

const kMax = 150 // px of the longer side

export function cellSize(grid: Grid): number {
  const most = Math.max(grid.rows.length, grid.columns.length)
  return most > kMax ? kMax / most : Math.min(16, Math.max(1, Math.floor(kMax / most)))
}

export function headMap(grid: Grid, tint: Tint): Scene {
  const cell = cellSize(grid)
  const rows = grid.rows.length
  const columns = grid.columns.length
  const width = cell * columns
  const height = cell * rows
  const mirror = mirrored(grid)
  const xOf = (c: number): number => cell * (mirror ? columns - 1 - c : c)
  return {
    width,
    height,
    rows,
    columns,
    mirror,
    paint(painter) {
      if (hasAbsent(grid)) painter.hatch(0, 0, width, height)
      painter.cells({ weights: grid.weights, rows, columns, mirror, tint }, 0, 0, width, height)
      painter.rect(0.5, 0.5, width - 1, height - 1, { stroke: painter.ink.rule })
    },
    light(painter, { row, column }) {
      const side = Math.max(2, cell)
      if (row >= 0) painter.rect(0, row * cell, width, side, { stroke: painter.ink.link })
      if (column >= 0) painter.rect(xOf(column), 0, side, height, { stroke: painter.ink.link })
    },
    hit(x, y) {
      const c = Math.floor(x / cell)
      const row = Math.floor(y / cell)
      if (row < 0 || row >= rows || c < 0 || c >= columns) return null
      return { row, column: mirror ? columns - 1 - c : c }
    },
    boxOf: () => null,
  }
}

export function headsSheet(grids: Grid[], across: number, tint: Tint, nameOf: (grid: Grid) => string): Scene {
  const maps = grids.map((g) => headMap(g, tint))
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
