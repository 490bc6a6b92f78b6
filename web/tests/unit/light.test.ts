// How attention lights up a picture, without a browser.
import { describe, expect, it } from 'vitest'
import { lightOf, spotAt, veilOf } from '../../src/views/light'

const cells = (rows: number, columns: number, weights: number[]) => ({
  rows,
  columns,
  weights: Float32Array.from(weights),
})

describe('light on a picture', () => {
  it('dims what was not looked at, and lifts what was', () => {
    expect(veilOf(0)).toEqual([0, 0, 0, 0.8])
    const [r, g, b, opacity] = veilOf(1)
    expect([r, g, b]).toEqual([255, 246, 214])
    expect(opacity).toBeCloseTo(0.26)
  })
  it('is brightest in the heaviest cell, and changes smoothly between centres', () => {
    const light = lightOf(cells(1, 3, [0.1, 0.4, 0]), 'linear')
    const across = Array.from({ length: light.width }, (_, x) => light.data[4 * x + 3]!)
    const cell = light.width / 3
    expect(across[0]).toBeCloseTo(255 * veilOf(0.25)[3], -0.5)
    expect(Math.abs(across.indexOf(Math.min(...across)) - 1.5 * cell)).toBeLessThanOrEqual(1)
    expect(across[light.width - 1]).toBe(204)
    for (let x = 1; x < light.width; ++x) expect(Math.abs(across[x]! - across[x - 1]!)).toBeLessThan(20)
  })
  it('knows rows from columns, and nothing of the column of no place', () => {
    const light = lightOf(cells(2, 2, [0, 0, 1, 0, 5]), 'linear')
    const at = (x: number, y: number): number => light.data[4 * (y * light.width + x) + 3]!
    expect(at(0, light.height - 1)).toBe(Math.round(255 * 0.26))
    expect(at(light.width - 1, 0)).toBe(204)
  })
  it('of weights that are all 0 or absent is dark', () => {
    expect(lightOf(cells(1, 2, [0, NaN]), 'log').data[3]).toBe(204)
  })
})

describe('a spot', () => {
  it('sums to 1, is where it was put, and leaves no place empty', () => {
    const weights = spotAt(0.9, 0.1, cells(4, 5, Array<number>(21).fill(0)))
    expect(weights).toHaveLength(21)
    expect(weights.reduce((s, w) => s + w, 0)).toBeCloseTo(1, 2)
    expect(weights.indexOf(Math.max(...weights))).toBe(4)
    expect(weights[20]).toBe(0)
  })
})
