// Records that were saved, in every form they are saved in; and what is none, or is made to harm.
import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { compact } from '../../mock/compact.mjs'
import { contentOf, readRecords } from '../../src/model/file'
import { wireOf, type WireRecord } from '../../src/model/record'
import { kWire } from './fixture'

const whole = { line: 1, rank: 1, ...kWire }
const other: WireRecord = { ...kWire, line: 2 }
const texts = async (content: string) => (await readRecords(content)).map((r) => r.target.text)

describe('a file', () => {
  it('has a record a line, as the program writes them', async () => {
    expect(await texts(`${JSON.stringify(kWire)}\n${JSON.stringify(other)}\n`)).toEqual(['rote Jacken', 'rote Jacken'])
    expect(await texts(JSON.stringify(kWire, null, 2))).toEqual(['rote Jacken'])
  })
  it('may be what this page saves', async () => {
    expect(await texts(JSON.stringify({ view: 'heatmap', title: 'x', grids: [], record: kWire }))).toHaveLength(1)
    expect(
      await texts(
        `<!doctype html><p>x</p><script type="application/json" id="record">${JSON.stringify(kWire)}</script></body>`,
      ),
    ).toHaveLength(1)
  })
  it('may be an answer of the server', async () => {
    const candidates = [
      { text: 'a', record: kWire },
      { text: 'b', record: other },
    ]
    expect(await texts(JSON.stringify({ translations: [{ text: 'a', candidates }], model: 'm' }))).toHaveLength(2)
    expect(await texts(JSON.stringify({ record: kWire }))).toHaveLength(1)
  })
  it('may be gzipped', async () => {
    expect(await texts(await contentOf(new Blob([gzipSync(JSON.stringify(kWire))])))).toEqual(['rote Jacken'])
    expect(await contentOf(new Blob(['{}']))).toBe('{}')
  })
})

describe('a compact record', () => {
  const worse = structuredClone({
    ...whole,
    rank: 2,
    target: { text: 'rote Jacke', tokens: [...whole.target.tokens.slice(0, 2), { text: 'e', begin: 9, end: 10 }] },
    steps: whole.steps!.slice(0, 3),
  })
  worse.attentions = whole.attentions.map((a) => {
    if (a.kind === 'encoder-self') return a
    return {
      ...a,
      weights: a.weights!.map((layer) =>
        layer.map((head) => head.slice(0, 3).map((row) => (a.kind === 'cross' ? row : row.slice(0, 3)))),
      ),
    }
  })

  it('has the weights, within their bound, and what it shares with the candidate before it', async () => {
    const pair = [compact(whole, undefined), compact(worse, { rank: 1, tokens: 2, rows: 3 })]
    expect(pair[1]).not.toHaveProperty('source')
    const got = await readRecords(JSON.stringify(pair))
    const expected = await readRecords(JSON.stringify([whole, worse]))
    got.forEach((record, n) => {
      const exact = expected[n]!
      expect({ ...record, wire: null, attentions: [] }).toEqual({ ...exact, wire: null, attentions: [] })
      record.attentions.forEach((a, i) => {
        const b = exact.attentions[i]!
        expect([a.kind, a.layers, a.heads, a.rows, a.columns]).toEqual([b.kind, b.layers, b.heads, b.rows, b.columns])
        a.weights.forEach((cells, h) =>
          cells.forEach((w, c) =>
            Number.isNaN(b.weights[h]![c])
              ? expect(w).toBeNaN()
              : expect(Math.abs(w - b.weights[h]![c]!)).toBeLessThan(0.002),
          ),
        )
      })
    })
  })
  it('is saved whole', async () => {
    const [, second] = await readRecords(
      JSON.stringify([compact(whole, undefined), compact(worse, { rank: 1, tokens: 2, rows: 3 })]),
    )
    const saved = wireOf(second!)!
    expect(saved).not.toHaveProperty('shares')
    expect(saved.attentions[2]!.weights).toEqual([
      [
        [
          [1, null, null],
          [0.5, 0.5, null],
          [0.2, 0.4, 0.4],
        ],
      ],
    ])
    expect(await texts(JSON.stringify(saved))).toEqual(['rote Jacke'])
  })
  it('is refused when it is damaged', async () => {
    const good = compact(whole, undefined)
    const first = (change: object) =>
      readRecords(JSON.stringify({ ...good, attentions: [{ ...good.attentions[0], ...change }] }))
    await expect(first({ packed: '*' })).rejects.toThrow('damaged data')
    await expect(first({ packed: 'AAAA' })).rejects.toThrow('damaged data')
    await expect(first({ packed: deflateSync(Buffer.alloc(7)).toString('base64') })).rejects.toThrow(
      'expected 80 bytes of cross, got 7',
    )
    await expect(first({ packed: deflateSync(Buffer.alloc(50_000_000)).toString('base64') })).rejects.toThrow(
      'got more',
    )
    await expect(first({ shape: [1e9, 1e9, 4, 3] })).rejects.toThrow('layers and heads')
    await expect(first({ shape: [10_000, 10_000, 4, 3] })).rejects.toThrow('million weights')
    await expect(first({ shape: 'x' })).rejects.toThrow('layers and heads')
    await expect(readRecords(JSON.stringify(compact(worse, { rank: 1, tokens: 2, rows: 3 })))).rejects.toThrow(
      'shares rows with before it',
    )
    for (const shares of [
      { rank: 1, tokens: 99, rows: 3 },
      { rank: 1, tokens: 2, rows: 99 },
      { rank: 1, tokens: -1, rows: -1 },
      { rank: 1 },
    ]) {
      await expect(
        readRecords(JSON.stringify([good, { ...compact(worse, { rank: 1, tokens: 2, rows: 3 }), shares }])),
      ).rejects.toThrow('expected')
    }
  })
})

describe('what is no record', () => {
  const broken = (change: object) => readRecords(JSON.stringify({ ...structuredClone(kWire), ...change }))
  it('is told in words', async () => {
    await expect(readRecords('')).rejects.toThrow('expected an attention record')
    await expect(readRecords('{"a": 1}')).rejects.toThrow('expected an attention record')
    await expect(readRecords(`${JSON.stringify(kWire)}\nhello`)).rejects.toThrow('line 2: expected JSON, got “hello”')
    await expect(broken({ fovea_record: 2 })).rejects.toThrow('expected version 1, got 2')
    await expect(broken({ source: undefined })).rejects.toThrow('its source')
    await expect(broken({ target: { text: 'a', tokens: [{ text: 5 }] } })).rejects.toThrow('its target')
    await expect(broken({ attentions: undefined })).rejects.toThrow('attentions')
    await expect(broken({ steps: [{}] })).rejects.toThrow('steps')
    await expect(broken({ attentions: [{ kind: 'cross', weights: [[[[1, 0, 0]]]] }] })).rejects.toThrow(
      'cross to have 4 rows of weights, got 1',
    )
    await expect(broken({ attentions: [{ kind: 'encoder-self', weights: [[[[1], [1], [1]]]] }] })).rejects.toThrow(
      'rows of 3 weights in encoder-self, got 1',
    )
  })
  it('is refused when it is made to harm', async () => {
    const rows = (weight: unknown) => [{ kind: 'cross', weights: [[Array.from({ length: 4 }, () => [weight, 0, 0])]] }]
    await expect(readRecords('['.repeat(1_000_000))).rejects.toThrow('levels deep')
    await expect(readRecords(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).rejects.toThrow('levels deep')
    await expect(readRecords(`[${'[],'.repeat(3_000_001)}0]`)).rejects.toThrow('million lists')
    await expect(readRecords('0\n'.repeat(20_000))).rejects.toThrow('at most 10000 records')
    await expect(readRecords('\n'.repeat(5_000_000))).rejects.toThrow('expected an attention record')
    await expect(
      readRecords(JSON.stringify({ ...kWire, attentions: rows(0.5) }).replaceAll('0.5', '1e999')),
    ).rejects.toThrow('weights from 0 to 1')
    for (const weight of ['x', -1, 2, {}, [1]])
      await expect(broken({ attentions: rows(weight) })).rejects.toThrow('weights from 0 to 1')
    await expect(broken({ attentions: [{ kind: '__proto__', weights: [[[[1]]]] }] })).rejects.toThrow('of kind')
    await expect(broken({ attentions: [{ kind: 'cross', weights: [[]] }] })).rejects.toThrow('layers and heads')
    await expect(broken({ attentions: [{ kind: 'cross', weights: [0] }] })).rejects.toThrow('layers and heads')
    for (const place of [-1, 1e300, 5.5, null, '1'])
      await expect(broken({ source: { text: 'a', tokens: [{ text: 'a', begin: place, end: 1 }] } })).rejects.toThrow(
        'its source',
      )
    await expect(broken({ steps: [{ log_probability: -1, alternatives: 'x' }] })).rejects.toThrow('steps')
    // A million rows and columns, and nothing in them: no array is made for the cells that are claimed.
    const tokens = Array.from({ length: 30_000 }, () => ({ text: '', begin: 0, end: 0 }))
    await expect(
      broken({
        source: { text: '', tokens },
        target: { text: '', tokens },
        steps: [],
        attentions: [{ kind: 'cross', weights: [[tokens.map(() => [])]] }],
      }),
    ).rejects.toThrow('million weights')
    // What is only shown may be anything: it becomes text or nothing.
    const [odd] = await broken({
      architecture: { a: 1 },
      log_probability: 'x',
      attentions: kWire.attentions.map((a) => ({ ...a, mechanism: 5, best_head: { layer: 99, head: 'x' } })),
    })
    expect(odd).toMatchObject({ architecture: '', log_probability: 0 })
    expect(odd!.attentions[0]).toMatchObject({ mechanism: '', best: null })
  })
  it('says that something is impossible with null', async () => {
    const [record] = await broken({ steps: [{ log_probability: null, alternatives: [] }, ...kWire.steps!.slice(1)] })
    expect(record!.steps[0]!.log_probability).toBe(-Infinity)
  })
  it('is not unpacked beyond 100 MB', async () => {
    const block = gzipSync(Buffer.alloc(30_000_000, 0x20))
    const bomb = new Blob(Array.from({ length: 10 }, () => block)) // 300 MB from 300 kB, in ten members
    await expect(contentOf(bomb)).rejects.toThrow(/at most 100 MB of records once they are unpacked|damaged/)
    await expect(contentOf(new Blob([gzipSync(Buffer.alloc(101_000_000, 0x20))]))).rejects.toThrow(
      'at most 100 MB of records once they are unpacked',
    )
    await expect(contentOf(new Blob([gzipSync('{}').subarray(0, 12)]))).rejects.toThrow('damaged')
  })
})
