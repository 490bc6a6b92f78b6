// Reductions and words: the same arithmetic as src/view/reduce.cpp.
import { describe, expect, it } from 'vitest'
import { at } from '../../src/model/grid'
import { readRecord } from '../../src/model/record'
import { everyHead, reduce } from '../../src/model/reduce'
import { kWire, record } from './fixture'

const options = { kind: 'cross', how: 'mean', layer: 0, head: 0, words: false } as const
const row = (grid: NonNullable<ReturnType<typeof reduce>>, r: number): number[] =>
  grid.columns.map((_, c) => Math.round(at(grid, r, c) * 1e6) / 1e6)

describe('reduce', () => {
  it('takes the mean of all heads of all layers', () => {
    const grid = reduce(record(), options)!
    expect(row(grid, 0)).toEqual([0.675, 0.225, 0.1])
    expect(grid.reduction).toMatchObject({ how: 'mean', heads: 2, layers: 2, layer: 0 })
  })
  it('takes the largest, of one layer', () => {
    const grid = reduce(record(), { ...options, how: 'max', layer: 1 })!
    expect(row(grid, 3)).toEqual([1, 0.25, 0.25])
    expect(grid.reduction).toMatchObject({ how: 'max', layer: 1, heads: 2, layers: 1 })
  })
  it('shows one head and says which', () => {
    const grid = reduce(record(), { ...options, how: 'one', layer: 2, head: 1 })!
    expect(row(grid, 0)).toEqual([0.2, 0.4, 0.4])
    expect(grid.reduction).toMatchObject({ how: 'one', layer: 2, head: 1 })
  })
  it('never shows a head that is not there', () => {
    expect(reduce(record(), { ...options, how: 'one', layer: 9, head: 9 })!.reduction).toMatchObject({
      layer: 2,
      head: 2,
    })
  })
  it('rolls cross attention out through the encoder', () => {
    const grid = reduce(record(), { ...options, how: 'rollout', layer: 2 })!
    // (A + I) / 2 of the encoder has rows [1,0,0], [.25,.75,0], [0,.25,.75]; the mean of layer 2 is [.6,.2,.2].
    expect(row(grid, 0)).toEqual([0.65, 0.2, 0.15])
    expect(row(grid, 0).reduce((a, b) => a + b)).toBeCloseTo(1, 6)
    expect(grid.reduction.through).toBe(1)
  })
  it('falls back to the mean, and says so, where there is nothing to roll through', () => {
    const wire = structuredClone(kWire)
    wire.attentions = wire.attentions.slice(0, 1)
    expect(reduce(readRecord(wire), { ...options, how: 'rollout' })!.reduction.how).toBe('mean')
  })
  it('takes the best as it was measured: one head, or several combined', () => {
    const best = (best_head: unknown) => {
      const wire = structuredClone(kWire)
      wire.attentions.find((a) => a.kind === 'cross')!.best_head = best_head
      return reduce(readRecord(wire), { ...options, how: 'best' })!
    }
    expect(best({ layer: 2, head: 1 }).reduction).toMatchObject({ how: 'one', layer: 2, head: 1, best: true })
    const mean = best({ heads: 'mean', layer: 0, head: 0 })
    expect(mean.reduction).toMatchObject({ how: 'mean', layers: 2, heads: 2, best: true })
    expect(row(mean, 0)).toEqual([0.675, 0.225, 0.1])
    expect(row(best({ heads: 'max', layer: 1, head: 0 }), 3)).toEqual([1, 0.25, 0.25])
    expect(best(undefined).reduction).toMatchObject({ how: 'mean', best: false })
  })
  it('joins pieces into words: columns summed, rows averaged', () => {
    const grid = reduce(record(), { ...options, how: 'one', layer: 1, head: 2, words: true })!
    expect(grid.columns.map((l) => l.text)).toEqual(['red', 'jackets'])
    expect(grid.rows.map((l) => l.text)).toEqual(['rote', 'Jacken', '</s>'])
    expect(row(grid, 0)).toEqual([0.5, 0.5])
    expect(row(grid, 1)).toEqual([0, 1])
    expect(grid.firstToken).toEqual([0, 1, 3])
    expect(grid.notes[1]!.probability).toBeCloseTo(0.25)
  })
  it('keeps masked cells absent', () => {
    const grid = reduce(record(), { ...options, kind: 'decoder-self' })!
    expect(grid.columns.map((l) => l.text)).toEqual(['<s>', 'rote', 'Jack', 'en'])
    expect(at(grid, 0, 1)).toBeNaN()
    expect(at(grid, 3, 3)).toBeCloseTo(0.25)
    const words = reduce(record(), { ...options, kind: 'decoder-self', words: true })!
    expect(words.columns.map((l) => l.text)).toEqual(['<s>', 'rote', 'Jacken'])
    expect(row(words, 1)[0]! + row(words, 1)[1]! + row(words, 1)[2]!).toBeCloseTo(1)
  })
  it('lists every head by itself', () => {
    expect(everyHead(record(), 'cross', false).map((g) => [g.reduction.layer, g.reduction.head])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
      [2, 2],
    ])
  })
  it('refuses a record of another version', () => {
    expect(() => readRecord({ ...kWire, fovea_record: 2 })).toThrow('expected version 1, got 2')
  })
})
