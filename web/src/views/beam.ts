// Draws the beam as a tree: every hypothesis that entered it, steps from left to right, dark if it led to a candidate.
import { pathOf, placeTree, type PlacedNode, type TreeNode } from '../model/tree'
import { shorten, shown } from '../model/text'
import type { Place } from '../state/store'
import { measure } from './painter'
import type { Box, Scene } from './scene'

const kSize = 13
const kLine = 24
const kGap = 22 // between a node and its children
const kMaxWidth = 110

export interface BeamScene extends Scene {
  nodes: PlacedNode[]
  nodeAt(x: number, y: number): number // -1 for none
  boxOfNode(i: number): Box
  best: number[] // indices of the nodes of the candidate that is shown, by row
}

export function beam(from: readonly TreeNode[], tokens: readonly string[]): BeamScene {
  const nodes = placeTree(from)
  const steps = Math.max(...nodes.map((n) => n.step)) + 1
  const texts = nodes.map((n) => shorten(shown(n), (part) => measure(part, kSize) <= kMaxWidth))
  const widths = new Array<number>(steps).fill(20)
  nodes.forEach((n, i) => (widths[n.step] = Math.max(widths[n.step]!, measure(texts[i]!, kSize, true) + 12)))
  const lefts = widths.map((_, step) => widths.slice(0, step).reduce((x, w) => x + w + kGap, 2))
  const boxes = nodes.map((n): Box => ({ x: lefts[n.step]!, y: 2 + n.line * kLine, w: widths[n.step]!, h: kLine - 4 }))
  const lines = Math.max(...nodes.map((n) => n.line)) + 1
  const best = pathOf(nodes, tokens)
  const onBest = new Set(best)

  const link = (i: number): string => {
    const a = boxes[nodes[i]!.up]!
    const b = boxes[i]!
    const x = a.x + measure(texts[nodes[i]!.up]!, kSize, true) + 10
    const [ya, yb] = [a.y + a.h / 2, b.y + b.h / 2]
    const m = ((a.x + a.w + b.x) / 2).toFixed(1)
    return `M${x.toFixed(1)} ${ya}H${(a.x + a.w).toFixed(1)}C${m} ${ya} ${m} ${yb} ${b.x.toFixed(1)} ${yb}`
  }
  const nodeOf = ({ row }: Place): number => best[row] ?? -1

  return {
    nodes,
    best,
    width: lefts[steps - 1]! + widths[steps - 1]! + 12,
    height: lines * kLine + 4,
    rows: best.length,
    columns: 0,
    mirror: false,
    paint(painter) {
      const { ink } = painter
      // The path of the candidate is drawn last, above the others.
      const order = nodes
        .map((_, i) => i)
        .sort(
          (a, b) => Number(onBest.has(a)) - Number(onBest.has(b)) || Number(nodes[a]!.kept) - Number(nodes[b]!.kept),
        )
      for (const i of order) {
        const n = nodes[i]!
        if (n.up < 0) continue
        painter.path(link(i), { stroke: n.kept ? ink.link : ink.rule, width: onBest.has(i) ? 2.5 : 1.25 })
      }
      nodes.forEach((n, i) => {
        const b = boxes[i]!
        const chosen = onBest.has(i)
        const w = measure(texts[i]!, kSize, chosen) + 8
        painter.rect(b.x, b.y, w, b.h, { fill: ink.paper, radius: 3 })
        painter.text(texts[i]!, b.x + 4, b.y + b.h / 2 + 4.5, {
          size: kSize,
          fill: n.kept ? ink.ink : ink.faint,
          bold: chosen,
        })
        if (n.ended) painter.rect(b.x + w + 1, b.y + b.h / 2 - 2, 4, 4, { fill: n.kept ? ink.link : ink.bar })
      })
    },
    light(painter, place) {
      const i = nodeOf(place)
      if (i < 0) return
      const b = boxes[i]!
      painter.rect(b.x, b.y, measure(texts[i]!, kSize, true) + 8, b.h, {
        stroke: painter.ink.link,
        width: 2,
        radius: 3,
      })
    },
    hit(x, y) {
      const i = this.nodeAt(x, y)
      const row = best.indexOf(i)
      return i >= 0 && row >= 0 ? { row, column: -1 } : null
    },
    nodeAt: (x, y) => boxes.findIndex((b) => x >= b.x - 4 && x < b.x + b.w + 4 && y >= b.y - 2 && y < b.y + b.h + 2),
    boxOfNode: (i) => boxes[i]!,
    boxOf: (place) => boxes[nodeOf(place)] ?? null,
  }
}
