// Records damaged at random: each is read or refused with a RecordError, nothing else.
import { expect, it } from 'vitest'
import { compact } from '../../mock/compact.mjs'
import { readRecords } from '../../src/model/file'
import { RecordError } from '../../src/model/record'
import { reduce } from '../../src/model/reduce'
import { kWire } from './fixture'

// A small generator with a seed: the same files in every run.
function random(seed: number): (below: number) => number {
  let x = seed
  return (below) => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0
    return Math.floor((x / 2 ** 32) * below)
  }
}

const kOdd: unknown[] = [null, true, -1, 0, 1.5, 1e308, 1e9, '', 'x', [], {}, [[]], [null], { a: [] }]

// Another value in a random place.
function damage(value: unknown, next: (below: number) => number): unknown {
  if (next(6) === 0 || typeof value !== 'object' || value === null) return kOdd[next(kOdd.length)]
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...(value as unknown[])] : { ...value }
  const keys = Object.keys(copy)
  if (keys.length === 0) return kOdd[next(kOdd.length)]
  const key = keys[next(keys.length)]!
  const to = copy as Record<string, unknown>
  if (next(10) === 0) delete to[key]
  else to[key] = damage(to[key], next)
  return Array.isArray(copy) ? copy.filter((x) => x !== undefined) : copy
}

it('reads or refuses what is damaged', async () => {
  const whole = { line: 1, rank: 1, ...kWire }
  const pair = [compact(whole, undefined), compact({ ...whole, rank: 2 }, { rank: 1, tokens: 2, rows: 3 })]
  let read = 0
  for (let seed = 0; seed < 2000; ++seed) {
    const next = random(seed)
    const damaged = damage(seed % 2 === 0 ? whole : pair, next)
    try {
      const records = await readRecords(JSON.stringify(damaged))
      for (const r of records)
        for (const a of r.attentions) reduce(r, { kind: a.kind, how: 'mean', layer: 0, head: 0, words: true })
      ++read
    } catch (error) {
      if (!(error instanceof RecordError))
        throw new Error(`seed ${seed}: ${String(error)}: ${JSON.stringify(damaged).slice(0, 2000)}`)
    }
  }
  expect(read).toBeGreaterThan(100)
})
