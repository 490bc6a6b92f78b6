// Entropies, comparison, the beam's tree and counterfactuals: the numbers that only the page computes.
import { describe, expect, it } from 'vitest'
import { align, difference } from '../../src/model/compare'
import { choiceEntropy, rowEntropy } from '../../src/model/grid'
import { pathOf, pathTo, placeTree, type TreeNode } from '../../src/model/tree'
import { isOff, normalise, pathBefore, prefixBefore, setRow, setWeight, toggleHead } from '../../src/model/whatif'
import { gridOf, kWire } from './fixture'

describe('entropy of a step', () => {
  it('passes over absent cells', () => {
    expect(rowEntropy(gridOf([[1, null]]), 0)).toBeCloseTo(0)
    expect(rowEntropy(gridOf([[0.5, 0.5, null]]), 0)).toBeCloseTo(Math.log(2))
  })
  it('counts what alternatives leave over as one more word', () => {
    const step = { log_probability: 0, alternatives: [{ text: 'a', log_probability: Math.log(0.5) }] }
    expect(choiceEntropy(step)).toBeCloseTo(Math.log(2))
    expect(choiceEntropy(undefined)).toBeNull()
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
  it('puts the path of the best hypothesis on the first line', () => {
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
