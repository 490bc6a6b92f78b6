// What only the page asks of the colour scale of heat maps. The colours themselves are in the shared cases.
import { describe, expect, it } from 'vitest'
import { css, largestOf, weightTint } from '../../src/views/colour'

describe('the colour scale', () => {
  it('ends at the largest weight shown, and is 1 where there is none', () => {
    expect(largestOf([{ weights: Float32Array.of(0.25, NaN) }, { weights: Float32Array.of(0.5, 0) }])).toBe(0.5)
    expect(largestOf([{ weights: Float32Array.of(0, NaN) }])).toBe(1)
  })
  it('is linear in its legend', () => {
    for (const scale of ['linear', 'sqrt', 'log'] as const) {
      const tint = weightTint('greys', scale, 0.4, false)
      expect(tint.at(1)).toBeCloseTo(0.4, 12)
      expect(css(tint.colour(tint.at(0.5)))).toBe('#7b7b7b')
    }
  })
})
