// The flow of attention: ribbons as thick as weights from the attended sentence to the attending words. The sentences are
// side by side, or one above the other where they do not fit, as on a phone.
import { mirrored, type Grid } from '../model/grid'
import type { Link, PrunedLinks } from '../model/links'
import { runsRightToLeft, shorten, shown, type Label } from '../model/text'
import { measure, type Painter } from './painter'
import type { Box, Scene } from './scene'

const kMany = 30 // words of a sentence from which on letters are smaller
interface Type {
  size: number
  line: number
}
const typeFor = (grid: Grid): Type =>
  Math.max(grid.rows.length, grid.columns.length) > kMany ? { size: 13, line: 18 } : { size: 15, line: 24 }
const kMaxWidth = 150 // of a word

interface Ribbon extends Link {
  d: string
}

// One of the two sentences: the positions of its words and how much of each bar has ribbons already.
interface Shore {
  labels: Label[]
  texts: string[]
  boxes: Box[]
  bars: Box[]
  taken: number[]
}

function totals(grid: Grid, ofRows: boolean): number[] {
  const sums = new Array<number>(ofRows ? grid.rows.length : grid.columns.length).fill(0)
  grid.weights.forEach((w, i) => {
    if (!Number.isNaN(w)) sums[ofRows ? Math.floor(i / grid.columns.length) : i % grid.columns.length]! += w
  })
  return sums
}

const textsOf = (labels: Label[], { size }: Type): string[] =>
  labels.map((l) => shorten(shown(l), (part) => measure(part, size) <= kMaxWidth))

// Lays words out in a line, from the right in a right-to-left script.
function acrossShore(labels: Label[], lengths: number[], spread: number, type: Type): { shore: Shore; width: number } {
  const texts = textsOf(labels, type)
  let x = 0
  const boxes = texts.map((text, i) => {
    const w = Math.max(measure(text, type.size) + 6, lengths[i]! + 6)
    if (i > 0) x += spread + (labels[i]!.spaceBefore ? 5 : 1)
    const box = { x, y: 0, w, h: type.line }
    x += w
    return box
  })
  if (runsRightToLeft(labels)) for (const box of boxes) box.x = x - box.x - box.w
  return { shore: { labels, texts, boxes, bars: [], taken: lengths.map(() => 0) }, width: x }
}

interface Layout {
  source: Shore
  target: Shore
  width: number
  height: number
  across: boolean
  unit: number
}

function layOutAcross(grid: Grid, room: number, unit: number, type: Type): Layout | null {
  const lengths = [totals(grid, false), totals(grid, true)].map((sums) => sums.map((s) => s * unit))
  let source = acrossShore(grid.columns, lengths[0]!, 0, type)
  let target = acrossShore(grid.rows, lengths[1]!, 0, type)
  const least = Math.max(source.width, target.width)
  if (least > room - 8) return null
  // Few words are spread out, so that ribbons can be told apart.
  const spread = Math.min(34, (room - 8 - least) / Math.max(grid.rows.length, grid.columns.length))
  source = acrossShore(grid.columns, lengths[0]!, spread, type)
  target = acrossShore(grid.rows, lengths[1]!, spread, type)
  const width = Math.max(source.width, target.width)
  const drop = Math.min(260, Math.max(120, width / 3.2))
  const place = (s: { shore: Shore; width: number }, y: number, edge: number, own: number[]): Shore => {
    const left = 4 + (width - s.width) / 2
    s.shore.boxes.forEach((b) => ((b.x += left), (b.y = y)))
    s.shore.bars = s.shore.boxes.map((b, i) => ({ x: b.x + (b.w - own[i]!) / 2, y: edge, w: own[i]!, h: 3 }))
    return s.shore
  }
  const top = 4 + type.line + 4
  return {
    source: place(source, 4, top, lengths[0]!),
    target: place(target, top + 3 + drop + 7, top + 3 + drop, lengths[1]!),
    width: width + 8,
    height: top + 3 + drop + 7 + type.line + 6,
    across: true,
    unit,
  }
}

function layOutDown(grid: Grid, room: number, unit: number, type: Type): Layout {
  const make = (labels: Label[], sums: number[]): { shore: Shore; height: number; width: number } => {
    const texts = textsOf(labels, type)
    let y = 4
    const boxes: Box[] = []
    const bars: Box[] = []
    texts.forEach((text, i) => {
      const length = sums[i]! * unit
      const h = Math.max(type.line, length + 4)
      boxes.push({ x: 0, y: y + (h - type.line) / 2, w: measure(text, type.size) + 8, h: type.line })
      bars.push({ x: 0, y: y + (h - length) / 2, w: 3, h: length })
      y += h
    })
    const width = Math.max(...boxes.map((b) => b.w))
    return { shore: { labels, texts, boxes, bars, taken: texts.map(() => 0) }, height: y, width }
  }
  const source = make(grid.columns, totals(grid, false))
  const target = make(grid.rows, totals(grid, true))
  const width = Math.min(Math.max(room, source.width + target.width + 110), source.width + target.width + 520)
  const height = Math.max(source.height, target.height)
  const shift = (s: typeof source, bar: number, word: (b: Box) => number): Shore => {
    // The shorter sentence is spread over the height of the longer one, so that links are short and both begin in sight.
    const words = s.shore.boxes.length
    const gap = words > 1 ? (height - s.height) / (words - 1) : 0
    s.shore.boxes.forEach((b, i) => ((b.y += gap * i), (b.x = word(b))))
    s.shore.bars.forEach((b, i) => ((b.y += gap * i), (b.x = bar)))
    return s.shore
  }
  return {
    source: shift(source, source.width + 4, (b) => source.width - b.w),
    target: shift(target, width - target.width - 7, () => width - target.width),
    width,
    height: height + 4,
    across: false,
    unit,
  }
}

// A band of constant thickness that is straight at both ends.
function ribbon(layout: Layout, from: number, to: number, thick: number): string {
  const f = (x: number): string => x.toFixed(1)
  if (layout.across) {
    const a = layout.source.bars[0]!.y + 3
    const b = layout.target.bars[0]!.y
    const m = f((a + b) / 2)
    return `M${f(from)} ${f(a)}C${f(from)} ${m} ${f(to)} ${m} ${f(to)} ${f(b)}h${thick.toFixed(2)}C${f(to + thick)} ${m} ${f(from + thick)} ${m} ${f(from + thick)} ${f(a)}Z`
  }
  const a = layout.source.bars[0]!.x + 3
  const b = layout.target.bars[0]!.x
  const m = f((a + b) / 2)
  return `M${f(a)} ${f(from)}C${m} ${f(from)} ${m} ${f(to)} ${f(b)} ${f(to)}v${thick.toFixed(2)}C${m} ${f(to + thick)} ${m} ${f(from + thick)} ${f(a)} ${f(from + thick)}Z`
}

function ribbonsOf(layout: Layout, links: Link[]): Ribbon[] {
  const middle = (b: Box): number => (layout.across ? b.x + b.w / 2 : b.y + b.h / 2)
  // At each word ribbons are in the order of the words they come from, so that they do not cross there.
  const ends = (own: Shore, ownIndex: (l: Link) => number, other: Shore, otherIndex: (l: Link) => number): number[] => {
    const at = new Array<number>(links.length)
    const order = links.map((_, i) => i)
    order.sort((a, b) => middle(other.boxes[otherIndex(links[a]!)]!) - middle(other.boxes[otherIndex(links[b]!)]!))
    for (const i of order) {
      const word = ownIndex(links[i]!)
      const bar = own.bars[word]!
      at[i] = (layout.across ? bar.x : bar.y) + own.taken[word]!
      own.taken[word]! += links[i]!.weight * layout.unit
    }
    return at
  }
  const row = (l: Link): number => l.row
  const column = (l: Link): number => l.column
  const from = ends(layout.source, column, layout.target, row)
  const to = ends(layout.target, row, layout.source, column)
  return links.map((l, i) => ({ ...l, d: ribbon(layout, from[i]!, to[i]!, Math.max(0.4, l.weight * layout.unit)) }))
}

export function flow(grid: Grid, pruned: PrunedLinks, room: number): Scene {
  const unit = Math.min(room < 500 ? 20 : 26, Math.max(3, 420 / grid.rows.length))
  const type = typeFor(grid)
  const layout = layOutAcross(grid, room, unit, type) ?? layOutDown(grid, room, unit, type)
  const ribbons = ribbonsOf(layout, pruned.drawn)

  const word = (painter: Painter, shore: Shore, i: number, bold: boolean): void => {
    const b = shore.boxes[i]!
    const fill = shore.labels[i]!.mark ? painter.ink.faint : painter.ink.ink
    painter.text(shore.texts[i]!, b.x + b.w / 2, b.y + b.h / 2 + type.size * 0.35, {
      size: type.size,
      fill,
      align: 'center',
      bold,
    })
  }
  const bar = (painter: Painter, shore: Shore, i: number, fill: string): void => {
    const b = shore.bars[i]!
    painter.rect(b.x, b.y, Math.max(0.5, b.w), Math.max(0.5, b.h), { fill })
  }
  const draw = (painter: Painter, r: Ribbon, alpha: number): void =>
    painter.path(r.d, { fill: painter.ink.link, alpha })

  const pick = (painter: Painter, shore: Shore, i: number): void => {
    const b = shore.boxes[i]
    if (!b) return
    painter.rect(b.x, b.y, b.w, b.h, { fill: painter.ink.paper, radius: 3 })
    painter.rect(b.x, b.y, b.w, b.h, { fill: painter.ink.pen, alpha: 0.4, radius: 3 })
    word(painter, shore, i, true)
    bar(painter, shore, i, painter.ink.link)
  }

  return {
    width: layout.width,
    height: layout.height,
    rows: grid.rows.length,
    columns: grid.columns.length,
    mirror: layout.across && mirrored(grid),
    paint(painter) {
      for (const r of ribbons) draw(painter, r, 0.25 + 0.4 * Math.min(1, r.weight))
      for (const shore of [layout.source, layout.target]) {
        shore.texts.forEach((_, i) => (word(painter, shore, i, false), bar(painter, shore, i, painter.ink.bar)))
      }
    },
    light(painter, { row, column }) {
      const own = ribbons.filter((r) => (row < 0 || r.row === row) && (column < 0 || r.column === column))
      const [s, t] = [layout.source.bars[0]!, layout.target.bars[0]!]
      if (layout.across) painter.rect(0, s.y + 3, layout.width, t.y - s.y - 3, { fill: painter.ink.veil })
      else painter.rect(s.x + 3, 0, t.x - s.x - 3, layout.height, { fill: painter.ink.veil })
      for (const r of own) draw(painter, r, 0.85)
      if (column >= 0) pick(painter, layout.source, column)
      if (row >= 0) pick(painter, layout.target, row)
    },
    hit(x, y) {
      const inside = (b: Box): boolean => x >= b.x - 1 && x < b.x + b.w + 1 && y >= b.y - 6 && y < b.y + b.h + 6
      const column = layout.source.boxes.findIndex(inside)
      if (column >= 0) return { row: -1, column }
      const row = layout.target.boxes.findIndex(inside)
      return row >= 0 ? { row, column: -1 } : null
    },
    boxOf: ({ row, column }) => (row >= 0 ? layout.target.boxes[row] : layout.source.boxes[column]) ?? null,
  }
}
