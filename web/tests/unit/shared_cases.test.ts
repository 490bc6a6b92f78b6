// What the page and the program both compute, by cases that both read: tests/view/cases. The program's side of this test
// is tests/view/shared_cases_test.cpp.
import { describe, expect, it } from 'vitest'
import { rowOf } from '../../mock/compact.mjs'
import { packedSize, readRow, unpack } from '../../src/model/compact'
import { diagnose, type Diagnostics } from '../../src/model/diagnostics'
import { heaviest, normaliseRows, type Reduce, type StepNote } from '../../src/model/grid'
import { meanMove, pruneLinks, transport } from '../../src/model/links'
import { readRecord, RecordError, type Kind, type WireRecord } from '../../src/model/record'
import { reduce } from '../../src/model/reduce'
import { directionOf, shown, type Label } from '../../src/model/text'
import type { Palette, Scale } from '../../src/state/store'
import { css, inkOn, ticksOf, weightTint, type Rgb } from '../../src/views/colour'
import { gridOf, readCases } from './fixture'

type Cell = number | null
const kDigits = 5 // of sums of a few floats up to 1: closer than 5e-6

function expectWeights(actual: ArrayLike<number>, expected: readonly Cell[], message: string): void {
  expect(actual.length, message).toBe(expected.length)
  expected.forEach((weight, i) => {
    if (weight === null) expect(actual[i], `cell ${i} of ${message}`).toBeNaN()
    else expect(actual[i], `cell ${i} of ${message}`).toBeCloseTo(weight, kDigits)
  })
}

describe('reductions', () => {
  interface Case {
    record: string
    attention: Kind
    heads: Reduce
    layer?: number
    head?: number
    words?: boolean
    hard?: boolean
    weights: Cell[][]
    rows?: CaseLabel[]
    columns?: CaseLabel[]
    notes?: StepNote[]
  }
  interface CaseLabel {
    text: string
    space_before?: boolean
    mark?: boolean
  }
  const labels = (from: readonly CaseLabel[]): Label[] =>
    from.map((label) => ({
      text: label.text,
      spaceBefore: label.space_before ?? false,
      mark: label.mark ?? false,
    }))
  const file = readCases<{ records: Record<string, WireRecord>; cases: Case[] }>('reductions.json')
  it.each(file.cases)('$record: $attention, $heads, layer $layer, words $words', (c) => {
    const grid = reduce(readRecord(file.records[c.record]!), {
      kind: c.attention,
      how: c.heads,
      layer: c.layer ?? 0,
      head: c.head ?? 0,
      words: c.words ?? false,
    })!
    expectWeights(grid.weights, c.weights.flat(), JSON.stringify(c))
    expect(grid.hard).toBe(c.hard ?? false)
    if (c.rows) expect(grid.rows).toEqual(labels(c.rows))
    if (c.columns) expect(grid.columns).toEqual(labels(c.columns))
    if (!c.notes) return
    expect(grid.notes.length).toBe(c.notes.length)
    grid.notes.forEach((note, i) => {
      const expected = c.notes![i]!
      expect(note.probability).toBeCloseTo(expected.probability, kDigits)
      expect(note.alternatives.map((a) => a.text)).toEqual(expected.alternatives.map((a) => a.text))
      const probabilities = (from: StepNote): number[] => from.alternatives.map((a) => a.probability)
      expectWeights(probabilities(note), probabilities(expected), JSON.stringify(c))
    })
  })
})

describe('normalised rows', () => {
  const { normalised } = readCases<{ normalised: { weights: Cell[][]; normalised: Cell[][] }[] }>('reductions.json')
  it.each(normalised)('$weights', (c) =>
    expectWeights(normaliseRows(gridOf(c.weights)).weights, c.normalised.flat(), JSON.stringify(c)),
  )
})

describe('diagnostics', () => {
  const names: Record<string, keyof Diagnostics> = {
    entropy: 'entropy',
    peak: 'peak',
    coverage_deviation: 'coverageDeviation',
    absent_out: 'absentOut',
    absent_in: 'absentIn',
    confidence: 'confidence',
  }
  const { cases } = readCases<{ cases: (Record<string, number> & { weights: Cell[][] })[] }>('diagnostics.json')
  it.each(cases)('of $weights', (c) => {
    const actual = diagnose(gridOf(c.weights))
    for (const [name, key] of Object.entries(names)) expect(actual[key], name).toBeCloseTo(c[name]!, kDigits)
  })
})

describe('links', () => {
  interface LinkCase {
    weights: Cell[][]
    hide: number
    most: number
    drawn: [number, number][]
    links: number
    hidden: number
  }
  interface MoveCase {
    weights: Cell[][]
    moves: [number, number, number][]
    mean_move: number
  }
  const file = readCases<{ links: LinkCase[]; moves: MoveCase[] }>('links.json')
  it.each(file.links)('of $weights, hiding $hide, at most $most', (c) => {
    const pruned = pruneLinks(gridOf(c.weights), c.hide, c.most)
    expect(pruned.drawn.map((link) => [link.row, link.column])).toEqual(c.drawn)
    for (const link of pruned.drawn) expect(link.weight).toBe(Math.fround(c.weights[link.row]![link.column]!))
    expect(pruned.links).toBe(c.links)
    expect(pruned.hiddenShare).toBeCloseTo(c.hidden, kDigits)
  })
  it.each(file.moves)('move between the rows of $weights', (c) => {
    const grid = gridOf(c.weights)
    const moves = grid.rows.length > 1 ? transport(grid, 0, 1) : []
    expect(moves.map((move) => [move.from, move.to])).toEqual(c.moves.map(([from, to]) => [from, to]))
    moves.forEach((move, i) => expect(move.mass).toBeCloseTo(c.moves[i]![2], kDigits))
    expect(meanMove(grid)).toBeCloseTo(c.mean_move, kDigits)
  })
})

describe('compact weights', () => {
  interface Case {
    shape: [number, number, number, number]
    bytes: number[][]
    packed: string
    weights: Cell[]
  }
  it.each(readCases<{ cases: Case[] }>('compact.json').cases)('of shape $shape', async (c) => {
    const [layers, heads, rows, columns] = c.shape
    const bytes = await unpack(c.packed, packedSize(layers * heads * rows, columns))
    expect([...bytes]).toEqual(c.bytes.flat())
    const weights = new Float32Array(c.weights.length)
    c.bytes.forEach((_, row) => readRow(bytes, packedSize(row, columns), columns, weights, row * columns))
    expectWeights(weights, c.weights, JSON.stringify(c))
    c.bytes.forEach((own, row) => expect([...rowOf(c.weights.slice(row * columns, (row + 1) * columns))]).toEqual(own))
  })
})

describe('the colour scale', () => {
  interface File {
    cases: { palette: Palette; scale: Scale; largest: number; weight: number; light: string; dark: string }[]
    ticks: { scale: Scale; largest: number; names: string[] }[]
    ink: { colour: string; ink: string }[]
  }
  const file = readCases<File>('colours.json')
  it('has the colours of the cases', () => {
    for (const c of file.cases) {
      for (const paper of ['light', 'dark'] as const) {
        const tint = weightTint(c.palette, c.scale, c.largest, paper === 'dark')
        expect(css(tint.colour(c.weight)), JSON.stringify(c)).toBe(c[paper])
      }
    }
  })
  it.each(file.ticks)('has ticks up to $largest, $scale', (c) => {
    expect(ticksOf(c.scale, c.largest, 0.14).map((tick) => tick.name)).toEqual(c.names)
  })
  it.each(file.ink)('has ink on $colour', (c) => {
    const value = parseInt(c.colour.slice(1), 16)
    const rgb: Rgb = [value >> 16, (value >> 8) & 255, value & 255]
    expect(inkOn(rgb)).toBe(c.ink)
  })
})

describe('text', () => {
  interface File {
    right_to_left: { tokens: string[]; marks?: number[]; expected: boolean }[]
    shown: { text: string; expected: string }[]
    heaviest: { weights: Cell[]; expected: number }[]
  }
  const file = readCases<File>('text.json')
  it.each(file.right_to_left)('direction of $tokens', (c) => {
    const labels = c.tokens.map((text, i) => ({ text, spaceBefore: true, mark: c.marks?.includes(i) ?? false }))
    expect(directionOf(labels)).toBe(c.expected ? 'rtl' : 'ltr')
  })
  it.each(file.shown)('shows "$text"', (c) => expect(shown(c)).toBe(c.expected))
  it.each(file.heaviest)('heaviest of $weights', (c) => expect(heaviest(gridOf([c.weights]), 0)).toBe(c.expected))
})

describe('damaged records', () => {
  interface File {
    record: string
    cases: { about: string; record?: string; at: string; value: unknown }[]
  }
  const file = readCases<File>('damaged_records.json')
  const { records } = readCases<{ records: Record<string, WireRecord> }>('reductions.json')
  it.each(file.cases)('with $about are refused', (c) => {
    const damaged = structuredClone(records[c.record ?? file.record]!)
    readRecord(damaged) // which is accepted as it is
    const keys = c.at.split('/').slice(1)
    const last = keys.pop()!
    const parent = keys.reduce<Record<string, unknown>>(
      (value, key) => value[key] as Record<string, unknown>,
      damaged as unknown as Record<string, unknown>,
    )
    expect(parent).toHaveProperty([last])
    parent[last] = c.value
    expect(() => readRecord(damaged)).toThrow(RecordError)
  })
})
