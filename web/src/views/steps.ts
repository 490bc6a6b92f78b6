// Decoding step by step: a frame for each output token, from top to bottom, with the source shaded by weight, the output
// so far, and the likeliest tokens. The page shows one frame at a time, a saved picture all of them.
import { percent, type Grid } from '../model/grid'
import { runsRightToLeft, shorten, shown as shownText, type Label } from '../model/text'
import type { Scale } from '../state/store'
import { css, inkOn, onScale, type Rgb } from './colour'
import { measure, type Painter } from './painter'
import type { Scene } from './scene'

const kSize = 14
const kLine = 23
const kBars = 5
const kBarLine = 18
const kMaxOutput = 40 // tokens of the output shown before the one of the step

interface Word {
  label: Label
  text: string
  x: number
  y: number
  w: number
}

function layOut(labels: Label[], room: number): { words: Word[]; width: number; height: number } {
  let x = 0
  let y = 0
  let width = 0
  const words = labels.map((label, i): Word => {
    const text = shorten(shownText(label), (part) => measure(part, kSize) <= Math.min(180, room))
    const w = measure(text, kSize) + 6
    if (i > 0 && x > 0) x += label.spaceBefore ? 4 : 0
    if (x > 0 && x + w > room) {
      x = 0
      y += kLine + 2
    }
    const word = { label, text, x, y, w }
    x += w
    width = Math.max(width, x)
    return word
  })
  if (runsRightToLeft(labels)) for (const word of words) word.x = width - word.x - word.w
  return { words, width, height: y + kLine }
}

const rgbOf = (hex: string): Rgb => {
  const n = parseInt(hex.slice(1), 16)
  return [n >> 16, (n >> 8) & 255, n & 255]
}
// The colour of the marker pen over the paper.
export function penOver(paper: string, pen: string, share: number): Rgb {
  const [a, b] = [rgbOf(paper), rgbOf(pen)]
  return [0, 1, 2].map((i) => Math.round((1 - share) * a[i]! + share * b[i]!)) as Rgb
}

// The likeliest tokens of a step. The token that was chosen is always among them.
export function barsOf(grid: Grid, row: number, most = kBars): { text: string; probability: number; taken: boolean }[] {
  const note = grid.notes[row]
  if (!note) return []
  const own = grid.rows[row]!.text
  const bars = note.alternatives.slice(0, most).map((a) => ({ ...a, taken: false }))
  const taken = bars.find((b) => b.text === own || b.text.trim() === own.trim())
  if (taken) taken.taken = true
  else {
    if (bars.length === most) bars.pop()
    bars.push({ text: own, probability: note.probability, taken: true })
  }
  return bars.sort((a, b) => b.probability - a.probability)
}

// `only` is the row of the one frame to draw, without the likeliest tokens, which stand beside it; without it all frames are
// drawn.
export function stepsSheet(grid: Grid, room: number, scale: Scale, only?: number): Scene {
  const noted = grid.notes.length > 0 && only === undefined
  const wide = room >= 640
  const left = 30
  const barWidth = noted ? (wide ? 250 : Math.min(250, room - left)) : 0
  const text = Math.max(120, wide ? room - left - barWidth - 24 : room - left)
  const source = layOut(grid.columns, text)
  const rows = grid.rows.length
  const first = only ?? 0
  const shown = only === undefined ? rows : 1
  const outputs = Array.from({ length: shown }, (_, frame) => {
    const row = first + frame
    const from = Math.max(0, row - kMaxOutput)
    return { from, ...layOut(grid.rows.slice(from, row + 1), text) }
  })
  const barHeight = noted ? kBars * kBarLine : 0
  const heights = outputs.map((s) => {
    const words = source.height + 6 + s.height
    return (wide ? Math.max(words, barHeight) : words + 6 + barHeight) + 24
  })
  const tops: number[] = []
  let y = 0
  for (const h of heights) {
    tops.push(y)
    y += h
  }

  const word = (painter: Painter, w: Word, x: number, y: number, fill: string, bold = false): void =>
    painter.text(w.text, x + w.x + w.w / 2, y + w.y + kLine / 2 + kSize * 0.35, {
      size: kSize,
      fill,
      align: 'center',
      bold,
    })

  const bars = (painter: Painter, x: number, y: number, row: number): void => {
    barsOf(grid, row).forEach((bar, i) => {
      const line = y + i * kBarLine
      const fill = bar.taken ? painter.ink.ink : painter.ink.faint
      const label = shorten(shownText(bar), (part) => measure(part, 12) <= 84)
      painter.text(label, x + 84, line + 13, { size: 12, fill, align: 'right', bold: bar.taken })
      const length = Math.max(1, 100 * Math.min(1, bar.probability))
      painter.rect(x + 92, line + 4, length, kBarLine - 8, {
        fill: bar.taken ? painter.ink.link : painter.ink.bar,
        radius: 1.5,
      })
      painter.text(percent(bar.probability), x + 98 + length, line + 13, { size: 11, fill })
    })
  }

  return {
    width: room,
    height: y,
    rows,
    columns: 0,
    mirror: false,
    paint(painter) {
      const { ink } = painter
      for (let frame = 0; frame < shown; ++frame) {
        const row = first + frame
        const top = tops[frame]!
        if (frame > 0) painter.rect(0, top, room, 1, { fill: ink.rule })
        const at = top + 12
        painter.text(String(row + 1), 10, at + 16, { size: 12, fill: ink.faint, align: 'center' })
        source.words.forEach((w, c) => {
          const weight = grid.weights[row * grid.columns.length + c]!
          if (Number.isNaN(weight)) painter.hatch(left + w.x, at + w.y, w.w, kLine)
          const share = Number.isNaN(weight) ? 0 : onScale(scale, weight)
          const over = penOver(ink.paper, ink.pen, share)
          if (share >= 0.01) painter.rect(left + w.x, at + w.y, w.w, kLine, { fill: css(over), radius: 3 })
          word(painter, w, left, at, share > 0.1 ? inkOn(over) : w.label.mark ? ink.faint : ink.ink)
        })
        const s = outputs[frame]!
        const below = at + source.height + 6
        if (s.from > 0) painter.text('…', left - 12, below + 15, { size: kSize, fill: ink.faint })
        s.words.forEach((w, i) => {
          const last = i === s.words.length - 1
          word(painter, w, left, below, w.label.mark && !last ? ink.faint : ink.ink, last)
          if (last) painter.rect(left + w.x + 2, below + w.y + kLine - 2, w.w - 4, 2, { fill: ink.link })
        })
        if (noted) bars(painter, wide ? room - barWidth : left - 20, wide ? at : below + s.height + 6, row)
      }
    },
    light(painter, { row }) {
      const frame = row - first
      if (frame >= 0 && frame < shown)
        painter.rect(0, tops[frame]! + 4, 3, heights[frame]! - 8, { fill: painter.ink.link, radius: 1.5 })
    },
    hit(x, y) {
      const frame = tops.findIndex((t, i) => y >= t && y < t + heights[i]!)
      return frame < 0 || x < 0 ? null : { row: first + frame, column: -1 }
    },
    boxOf: ({ row }) => {
      const [y, h] = [tops[row - first], heights[row - first]]
      return y === undefined || h === undefined ? null : { x: 0, y, w: 100, h }
    },
  }
}
