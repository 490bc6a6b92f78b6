// The colour scale of heat maps: the same colours as src/view/colour_scale.cpp, by the cases that its own test reads.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Palette, Scale } from '../../src/state/store'
import { css, largestOf, ticksOf, weightTint } from '../../src/views/colour'

interface Case {
  palette: Palette
  scale: Scale
  largest: number
  weight: number
  light: string
  dark: string
}

const cases = JSON.parse(
  readFileSync(new URL('../../../tests/view/colour_cases.json', import.meta.url), 'utf8'),
) as Case[]

describe('the colour scale', () => {
  it('has the colours of the command line', () => {
    expect(cases.length).toBeGreaterThan(100)
    for (const c of cases) {
      for (const paper of ['light', 'dark'] as const) {
        const tint = weightTint(c.palette, c.scale, c.largest, paper === 'dark')
        expect(css(tint.colour(c.weight)), JSON.stringify(c)).toBe(c[paper])
      }
    }
  })
  it('ends at the largest weight shown, and is 1 where there is none', () => {
    expect(largestOf([{ weights: Float32Array.of(0.25, NaN) }, { weights: Float32Array.of(0.5, 0) }])).toBe(0.5)
    expect(largestOf([{ weights: Float32Array.of(0, NaN) }])).toBe(1)
  })
  it('has round ticks and both ends', () => {
    const names = (scale: Scale, largest: number): string =>
      ticksOf(scale, largest, 0.14)
        .map((t) => t.name)
        .join(' ')
    expect(names('linear', 1)).toBe('0 0.2 0.4 0.6 0.8 1')
    expect(names('linear', 0.37)).toBe('0 0.1 0.2 0.3 0.37')
    expect(names('linear', 0.0021)).toBe('0 0.0005 0.001 0.0015 0.0021')
    expect(names('sqrt', 1)).toBe('0 0.05 0.2 0.5 1')
    expect(names('log', 0.5)).toBe('≤ 0.0005 0.01 0.1 0.5')
  })
  it('is linear in its legend', () => {
    for (const scale of ['linear', 'sqrt', 'log'] as const) {
      const tint = weightTint('greys', scale, 0.4, false)
      expect(tint.at(1)).toBeCloseTo(0.4, 12)
      expect(css(tint.colour(tint.at(0.5)))).toBe('#7b7b7b')
    }
  })
})
