// Bars for each row or column of a grid: entropies of steps, coverage of source tokens. Long labels are rotated.
import { shorten, shown, type Label } from '../model/text'
import type { Place } from '../state/store'
import { measure, type Painter } from './painter'
import type { Scene } from './scene'

export interface Series {
  name: string
  values: (number | null)[]
}

export interface ChartShape {
  labels: Label[]
  of: 'row' | 'column'
  series: Series[]
  even?: number // a horizontal line at the ideal value
  mirror: boolean
}

const kHeight = 90

export function chart(shape: ChartShape, room: number): Scene {
  const count = shape.labels.length
  const left = 34
  const step = Math.min(44, Math.max(count > 200 ? 1 : 9, (room - left - 8) / count))
  const size = Math.min(12, step * 0.86)
  const labelled = size >= 7
  const longest = labelled ? Math.max(...shape.labels.map((l) => Math.min(90, measure(shown(l), size)))) : 0
  const turned = longest > step - 2
  const top = 24
  const most = Math.max(shape.even ?? 0, 1e-9, ...shape.series.flatMap((s) => s.values.map((v) => v ?? 0))) * 1.05
  const xOf = (i: number): number => left + step * (shape.mirror ? count - 1 - i : i)
  const bottom = top + kHeight
  const fills = (painter: Painter): string[] => [painter.ink.link, painter.ink.bar]
  const index = (place: Place): number => (shape.of === 'row' ? place.row : place.column)
  const width = left + step * count + 8 + (turned ? longest * 0.3 : 0)
  return {
    width: Math.max(width, 220),
    height: bottom + (labelled ? (turned ? longest * 0.8 : 0) + size + 12 : 8),
    rows: shape.of === 'row' ? count : 0,
    columns: shape.of === 'column' ? count : 0,
    mirror: shape.mirror,
    paint(painter) {
      const { ink } = painter
      let x = left
      shape.series.forEach((s, k) => {
        const key = shape.series.length > 1 ? 15 : 0 // a single series needs no key
        if (key > 0) painter.rect(x, 2, 10, 10, { fill: fills(painter)[k]!, radius: 2 })
        painter.text(s.name, x + key, 11, { size: 12, fill: ink.faint })
        x += measure(s.name, 12) + 34
      })
      painter.text(most.toFixed(1), left - 6, top + 8, { size: 11, fill: ink.faint, align: 'right' })
      painter.text('0', left - 6, bottom, { size: 11, fill: ink.faint, align: 'right' })
      const w = Math.max(1, (step * 0.8) / shape.series.length)
      shape.series.forEach((s, k) =>
        s.values.forEach((v, i) => {
          if (v === null) return
          const h = Math.max(0.5, (v / most) * kHeight)
          painter.rect(xOf(i) + step * 0.1 + w * k, bottom - h, w, h, { fill: fills(painter)[k]! })
        }),
      )
      painter.rect(left, bottom, step * count, 1, { fill: ink.rule })
      if (shape.even !== undefined)
        painter.rect(left, bottom - (shape.even / most) * kHeight, step * count, 1, { fill: ink.faint })
      if (!labelled) return
      shape.labels.forEach((l, i) => {
        const text = shorten(shown(l), (part) => measure(part, size) <= 90)
        const fill = l.mark ? ink.faint : ink.ink
        const x = xOf(i) + step / 2
        if (!turned) painter.text(text, x, bottom + size + 4, { size, fill, align: 'center' })
        else painter.text(text, x + size * 0.3, bottom + 10, { size, fill, align: 'right', turn: -60 })
      })
    },
    light(painter, place) {
      const i = index(place)
      if (i >= 0 && i < count)
        painter.rect(xOf(i), top - 2, step, kHeight + 4, { stroke: painter.ink.link, width: 1.5, radius: 3 })
    },
    hit(x) {
      const i = Math.floor((x - left) / step)
      if (i < 0 || i >= count) return null
      const at = shape.mirror ? count - 1 - i : i
      return shape.of === 'row' ? { row: at, column: -1 } : { row: -1, column: at }
    },
    boxOf: (place) => ({ x: xOf(Math.max(0, index(place))), y: 0, w: step, h: bottom }),
  }
}
