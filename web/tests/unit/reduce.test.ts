// What the page says of a reduction. The numbers are in the shared cases.
import { describe, expect, it } from 'vitest'
import { readRecord } from '../../src/model/record'
import { everyHead, reduce, type ReduceOptions } from '../../src/model/reduce'
import { kWire, record } from './fixture'

const kOptions: ReduceOptions = { kind: 'cross', how: 'mean', layer: 0, head: 0, words: false }
const reductionOf = (options: Partial<ReduceOptions>, of = record()) =>
  reduce(of, { ...kOptions, ...options })!.reduction

describe('reduce', () => {
  it('says which layers and heads it combined, and how', () => {
    expect(reductionOf({})).toMatchObject({ how: 'mean', heads: 2, layers: 2, layer: 0, head: 0 })
    expect(reductionOf({ how: 'max', layer: 1 })).toMatchObject({ how: 'max', layer: 1, heads: 2, layers: 1 })
    expect(reductionOf({ how: 'one', layer: 2, head: 1 })).toMatchObject({ how: 'one', layer: 2, head: 1 })
    expect(reductionOf({ how: 'rollout', layer: 2 })).toMatchObject({ how: 'rollout', layer: 2, through: 1 })
  })
  it('never shows a head that is not there', () => {
    expect(reductionOf({ how: 'one', layer: 9, head: 9 })).toMatchObject({ layer: 2, head: 2 })
  })
  it('falls back to the mean, and says so, where there is nothing to roll through', () => {
    const wire = { ...kWire, attentions: kWire.attentions.slice(0, 1) }
    expect(reductionOf({ how: 'rollout' }, readRecord(wire)).how).toBe('mean')
  })
  it('takes the best as it was measured: one head, or several combined', () => {
    const best = (best_head: unknown) => {
      const wire = structuredClone(kWire)
      wire.attentions.find((a) => a.kind === 'cross')!.best_head = best_head
      return reductionOf({ how: 'best' }, readRecord(wire))
    }
    expect(best({ layer: 2, head: 1 })).toMatchObject({ how: 'one', layer: 2, head: 1, best: true })
    expect(best({ heads: 'mean', layer: 0, head: 0 })).toMatchObject({ how: 'mean', layers: 2, heads: 2, best: true })
    expect(best({ heads: 'max', layer: 1, head: 0 })).toMatchObject({ how: 'max', layers: 1, heads: 2, best: true })
    expect(best(undefined)).toMatchObject({ how: 'mean', best: false })
  })
  it('knows the first token of each word', () => {
    expect(reduce(record(), { ...kOptions, words: true })!.firstToken).toEqual([0, 1, 3])
  })
  it('lists every head by itself', () => {
    const heads = everyHead(record(), 'cross', false).map((g) => [g.reduction.layer, g.reduction.head])
    expect(heads.map(String)).toEqual(['1,1', '1,2', '2,1', '2,2'])
  })
  it('refuses a record of another version', () => {
    expect(() => readRecord({ ...kWire, fovea_record: 2 })).toThrow('expected version 1, got 2')
  })
})
