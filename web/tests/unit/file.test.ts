// Records that were saved, in every form they are saved in; and what is none.
import { describe, expect, it } from 'vitest'
import { contentOf, readRecords } from '../../src/model/file'
import type { WireRecord } from '../../src/model/record'
import { kWire } from './fixture'

const other: WireRecord = { ...kWire, line: 2 } as WireRecord
const texts = (content: string) => readRecords(content).map((r) => r.target.text)

describe('a file', () => {
  it('has a record a line, as the program writes them', () => {
    expect(texts(`${JSON.stringify(kWire)}\n${JSON.stringify(other)}\n`)).toEqual(['rote Jacken', 'rote Jacken'])
    expect(texts(JSON.stringify(kWire, null, 2))).toEqual(['rote Jacken'])
  })
  it('may be what this page saves', () => {
    expect(texts(JSON.stringify({ view: 'heatmap', title: 'x', grids: [], record: kWire }))).toHaveLength(1)
    expect(texts(`<!doctype html><p>x</p><script type="application/json" id="record">${JSON.stringify(kWire)}</script></body>`)).toHaveLength(1)
  })
  it('may be an answer of the server', () => {
    const candidates = [{ text: 'a', record: kWire }, { text: 'b', record: other }]
    expect(texts(JSON.stringify({ translations: [{ text: 'a', candidates }], model: 'm' }))).toHaveLength(2)
    expect(texts(JSON.stringify({ record: kWire }))).toHaveLength(1)
  })
  it('may be gzipped', async () => {
    const zipped = await new Response(new Blob([JSON.stringify(kWire)]).stream().pipeThrough(new CompressionStream('gzip'))).blob()
    expect(texts(await contentOf(zipped))).toEqual(['rote Jacken'])
    expect(await contentOf(new Blob(['{}']))).toBe('{}')
  })
})

describe('what is no record', () => {
  const broken = (change: object) => () => readRecords(JSON.stringify({ ...structuredClone(kWire), ...change }))
  it('is told in words', () => {
    expect(() => readRecords('')).toThrow('expected an attention record')
    expect(() => readRecords('{"a": 1}')).toThrow('expected an attention record')
    expect(() => readRecords(`${JSON.stringify(kWire)}\nhello`)).toThrow('line 2: expected JSON, got “hello”')
    expect(broken({ fovea_record: 2 })).toThrow('expected version 1, got 2')
    expect(broken({ source: undefined })).toThrow('its source')
    expect(broken({ target: { text: 'a', tokens: [{ text: 5 }] } })).toThrow('its target')
    expect(broken({ attentions: undefined })).toThrow('attentions')
    expect(broken({ steps: [{}] })).toThrow('steps')
    expect(broken({ attentions: [{ kind: 'cross', weights: [[[[1, 0, 0]]]] }] })).toThrow('cross to have 4 rows of weights, got 1')
    expect(broken({ attentions: [{ kind: 'encoder-self', weights: [[[[1], [1], [1]]]] }] })).toThrow('rows of 3 weights in encoder-self, got 1')
  })
})
