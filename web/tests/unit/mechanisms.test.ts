// From scores to weights, worked out by hand from docs/attention.md.
import { describe, expect, it } from 'vitest'
import { weighed, type Mechanism } from '../../src/model/mechanisms'
import { kProbabilities, kScores, kSelfScores, kSource, kTarget } from '../../src/model/recorded_example'

const kPlain: Mechanism = { temperature: 1, selection: 'soft', window: Infinity, centre: 0, slope: 0 }
const close = (actual: readonly number[], expected: readonly number[]): void => {
  expect(actual.length).toBe(expected.length)
  actual.forEach((x, i) => (Number.isNaN(expected[i]) ? expect(x).toBeNaN() : expect(x).toBeCloseTo(expected[i]!, 6)))
}

describe('mechanisms', () => {
  it('softmax, with a temperature', () => {
    close(weighed([Math.log(3), 0], kPlain), [0.75, 0.25])
    close(weighed([2 * Math.log(3), 0], { ...kPlain, temperature: 2 }), [0.75, 0.25])
    close(weighed([1000, 1000], kPlain), [0.5, 0.5])
  })
  it('sparsemax cuts at 0', () => {
    close(weighed([0.5, 0.25, -3], { ...kPlain, selection: 'sparse' }), [0.625, 0.375, 0])
    close(weighed([2, 0, 0], { ...kPlain, selection: 'sparse' }), [1, 0, 0])
    close(weighed([0.1, 0.1, 0.1, 0.1], { ...kPlain, selection: 'sparse' }), [0.25, 0.25, 0.25, 0.25])
  })
  it('hard takes the largest that is seen', () => {
    close(weighed([1, 3, 2], { ...kPlain, selection: 'hard' }), [0, 1, 0])
    close(weighed([9, 3, 2], { ...kPlain, selection: 'hard', window: 0, centre: 2 }), [NaN, NaN, 1])
  })
  it('a window masks what is outside', () => {
    close(
      weighed([5, 0, 0, 5], { ...kPlain, window: 1, centre: 1 }),
      [Math.exp(5), 1, 1, NaN].map((x) => x / (2 + Math.exp(5))),
    )
  })
  it('ALiBi charges for distance', () => {
    close(weighed([0, 0], { ...kPlain, slope: Math.log(3), centre: 0 }), [0.75, 0.25])
  })
  it('the recorded example is whole', () => {
    expect(kScores.length).toBe(kTarget.length)
    for (const row of kScores) expect(row.length).toBe(kSource.length)
    kSelfScores.forEach((row, i) => expect(row.length).toBe(i + 1))
    expect(kProbabilities.length).toBe(kTarget.length)
    // As the model itself computed it: “爱” attends to “love”.
    close(
      [weighed(kScores[1]!, kPlain)[1]!].map((x) => Math.round(100 * x)),
      [94],
    )
  })
})
