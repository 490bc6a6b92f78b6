// Diagnostics, links, transport, comparison, the beam's tree, counterfactuals: the numbers behind the pictures.
import { describe, expect, it } from 'vitest'
import { align, difference } from '../../src/model/compare'
import { diagnose } from '../../src/model/diagnostics'
import { choiceEntropy, rowEntropy, type Grid } from '../../src/model/grid'
import { cutLinks, meanMove, transport } from '../../src/model/links'
import { pathOf, pathTo, placeTree, type TreeNode } from '../../src/model/tree'
import { isOff, normalise, pathBefore, prefixBefore, setRow, setWeight, toggleHead } from '../../src/model/whatif'
import { kWire } from './fixture'

function gridOf(weights: number[][], rows?: string[], columns?: string[]): Grid {
  const label = (text: string) => ({ text, spaceBefore: true, mark: false })
  return {
    reduction: { kind: 'cross', how: 'mean', layer: 1, head: 1, layers: 1, heads: 1, words: false, through: 0 },
    rowSide: 'target',
    columnSide: 'source',
    rows: (rows ?? weights.map((_, i) => `r${i}`)).map(label),
    columns: (columns ?? weights[0]!.map((_, i) => `c${i}`)).map(label),
    weights: Float32Array.from(weights.flat()),
    firstToken: weights.map((_, i) => i),
    columnWord: weights[0]!.map((_, i) => i),
    notes: [],
    hard: false,
  }
}

describe('diagnostics', () => {
  it('finds nothing wrong with a diagonal', () => {
    expect(
      diagnose(
        gridOf([
          [1, 0],
          [0, 1],
        ]),
      ),
    ).toEqual({ entropy: 0, peak: 1, coverageDeviation: 0, absentOut: 0, absentIn: 0, confidence: 1 })
  })
  it('measures even attention', () => {
    const d = diagnose(
      gridOf([
        [0.5, 0.5],
        [0.5, 0.5],
      ]),
    )
    expect(d.entropy).toBeCloseTo(1)
    expect(d.peak).toBeCloseTo(0.5)
    expect(d.absentOut).toBeCloseTo(Math.log(2))
    expect(d.absentIn).toBeCloseTo(Math.log(2))
    expect(d.confidence).toBeCloseTo(0.25)
  })
  it('counts a word looked at twice and one never', () => {
    expect(
      diagnose(
        gridOf([
          [1, 0],
          [1, 0],
        ]),
      ).coverageDeviation,
    ).toBeCloseTo(Math.log(2))
  })
  it('passes over absent cells', () => {
    expect(
      diagnose(
        gridOf([
          [1, NaN],
          [0.5, 0.5],
        ]),
      ).absentOut,
    ).toBeCloseTo(Math.log(2) / 2)
    expect(rowEntropy(gridOf([[1, NaN]]), 0)).toBeCloseTo(0)
  })
  it('counts what alternatives leave over as one more word', () => {
    const step = { log_probability: 0, alternatives: [{ text: 'a', log_probability: Math.log(0.5) }] }
    expect(choiceEntropy(step)).toBeCloseTo(Math.log(2))
    expect(choiceEntropy(undefined)).toBeNull()
  })
})

describe('links', () => {
  const grid = gridOf([
    [0.9, 0.06, 0.04],
    [0.2, 0.3, 0.5],
  ])
  it('cuts the smallest of each row and says how much', () => {
    const cut = cutLinks(grid, 0.1)
    expect(cut.drawn.map((l) => [l.row, l.column])).toEqual([
      [0, 0],
      [1, 0],
      [1, 1],
      [1, 2],
    ])
    expect(cut.links).toBe(6)
    expect(cut.hiddenShare).toBeCloseTo(0.05)
  })
  it('draws at most so many', () => {
    const cut = cutLinks(grid, 0, 2)
    expect(cut.drawn.map((l) => [l.row, l.column])).toEqual([
      [0, 0],
      [1, 2],
    ])
    expect(cut.hiddenShare).toBeCloseTo(0.3)
  })
  it('has no links for absent cells', () => {
    expect(cutLinks(gridOf([[1, NaN]]), 0).links).toBe(1)
  })
})

describe('transport', () => {
  it('moves mass in order, the cheapest way', () => {
    const moves = transport(
      gridOf([
        [1, 0, 0],
        [0, 0.5, 0.5],
      ]),
      0,
      1,
    )
    expect(moves).toEqual([
      { from: 0, to: 1, mass: 0.5 },
      { from: 0, to: 2, mass: 0.5 },
    ])
  })
  it('keeps what stays', () => {
    expect(
      transport(
        gridOf([
          [0.5, 0.5],
          [0.5, 0.5],
        ]),
        0,
        1,
      ).every((m) => m.from === m.to),
    ).toBe(true)
    expect(
      meanMove(
        gridOf([
          [1, 0],
          [0, 1],
          [0, 1],
        ]),
      ),
    ).toBeCloseTo(0.5)
  })
  it('has nothing to move from nothing', () => {
    expect(
      transport(
        gridOf([
          [0, 0],
          [0, 1],
        ]),
        0,
        1,
      ),
    ).toEqual([])
  })
})

describe('compare', () => {
  it('aligns what both have', () => {
    expect(align(['a', 'b', 'c', 'd'], ['a', 'x', 'c', 'd', 'e'])).toEqual([
      [0, 0],
      [2, 2],
      [3, 3],
    ])
    expect(align([], ['a'])).toEqual([])
  })
  it('subtracts the first from the second there', () => {
    const a = gridOf(
      [
        [0.8, 0.2],
        [0.1, 0.9],
      ],
      ['x', 'y'],
    )
    const b = gridOf(
      [
        [0.5, 0.5],
        [0, 1],
      ],
      ['x', 'z'],
    )
    const d = difference(a, b)!
    expect(Array.from(d.grid.weights).map((w) => Math.round(w * 100) / 100)).toEqual([-0.3, 0.3])
    expect(d.grid.rows.map((l) => l.text)).toEqual(['x'])
    expect(d.largest).toBeCloseTo(0.3)
    expect(d.moved).toBeCloseTo(0.3)
  })
  it('has nothing to say of answers with nothing in common', () => {
    expect(difference(gridOf([[1]], ['x']), gridOf([[1]], ['y']))).toBeNull()
  })
})

describe('tree', () => {
  const node = (
    id: number,
    parent: number | null,
    text: string,
    kept: boolean,
    total: number,
    step: number,
  ): TreeNode => ({ id, parent, text, kept, total, step, log_probability: total, ended: false })
  const nodes = placeTree([
    node(0, null, '<s>', true, 0, 0),
    node(1, 0, 'a', false, -0.1, 1),
    node(2, 0, 'b', true, -0.5, 1),
    node(3, 2, 'c', true, -0.6, 2),
    node(4, 2, 'd', false, -0.9, 2),
  ])
  it('puts the way that was kept on the first line', () => {
    expect(nodes.map((n) => n.line)).toEqual([0, 2, 0, 0, 1])
  })
  it('finds the way of a candidate and to a node', () => {
    expect(pathOf(nodes, ['b', 'c', 'e'])).toEqual([2, 3])
    expect(pathTo(nodes, 4).map((n) => n.text)).toEqual(['b', 'd'])
  })
})

describe('what if', () => {
  it('takes what had been written before a step', () => {
    expect(prefixBefore(kWire.target, 0)).toBe('')
    expect(prefixBefore(kWire.target, 1)).toBe('rote ')
    expect(prefixBefore(kWire.target, 2)).toBe('rote Jack')
    expect(prefixBefore(kWire.target, 3)).toBe('rote Jacken')
    expect(pathBefore(kWire.target, 2)).toEqual(['rote', 'Jack'])
    // Places count code points.
    expect(
      prefixBefore(
        {
          text: '😀ab',
          tokens: [
            { text: '😀', begin: 0, end: 1 },
            { text: 'ab', begin: 1, end: 3 },
          ],
        },
        1,
      ),
    ).toBe('😀')
  })
  it('switches a head off and on', () => {
    const off = toggleHead([], 'cross', 1, 2)
    expect(isOff(off, 'cross', 1, 2)).toBe(true)
    expect(isOff(off, 'cross', 2, 1)).toBe(false)
    expect(toggleHead(off, 'cross', 1, 2)).toEqual([])
  })
  it('sets one weight and keeps the sum', () => {
    const set = setWeight([0.5, 0.25, 0.25], 0, 0.8)
    expect(set.map((w) => Math.round(w * 1000) / 1000)).toEqual([0.8, 0.1, 0.1])
    expect(setWeight([1, 0, 0], 0, 0)).toEqual([0, 0.5, 0.5])
    expect(normalise([0, 0])).toEqual([0.5, 0.5])
  })
  it('replaces the row that was set before', () => {
    const edit = { kind: 'cross', layer: null, head: null, row: 1, weights: [1, 0] } as const
    const edits = setRow(setRow([], { ...edit, weights: [1, 0] }), { ...edit, weights: [0, 1] })
    expect(edits).toHaveLength(1)
    expect(edits[0]!.weights).toEqual([0, 1])
  })
})
