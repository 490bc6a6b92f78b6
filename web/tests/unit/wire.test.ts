// What goes over the wire and into the address: event streams, growing records, the state and back.
import { describe, expect, it } from 'vitest'
import { EventParser, readEvents } from '../../src/api/sse'
import { PartialRecord } from '../../src/model/partial'
import { directionOf, isRightToLeft, shorten, shown } from '../../src/model/text'
import { kDefaults, type State } from '../../src/state/store'
import { decode, encode } from '../../src/state/url'
import { rasterise } from '../../src/views/cells'
import { changeTint, kLight, onScale, weightTint } from '../../src/views/colour'
import { escapeXml, SvgPainter } from '../../src/views/painter'
import { en } from '../../src/i18n/en'
import { zh } from '../../src/i18n/zh'
import { rowOf } from '../../mock/compact.mjs'

describe('events', () => {
  it('reads events however they are split into chunks', () => {
    const text = 'event: token\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: a comment\ndata: x\n\n'
    for (let at = 0; at <= text.length; ++at) {
      const parser = new EventParser()
      const found = [...parser.push(text.slice(0, at)), ...parser.push(text.slice(at))]
      expect(found).toEqual([
        { event: 'token', data: '{"a":\n1}' },
        { event: 'message', data: 'x' },
      ])
    }
  })
  it('joins characters that are split between chunks', async () => {
    const bytes = new TextEncoder().encode('event: token\ndata: 看书\n\n')
    const body = new ReadableStream<Uint8Array>({
      start(to) {
        for (const byte of bytes) to.enqueue(Uint8Array.of(byte))
        to.close()
      },
    })
    const found = []
    for await (const event of readEvents(body)) found.push(event)
    expect(found).toEqual([{ event: 'token', data: '看书' }])
  })
})

describe('a growing record', () => {
  it('has a row for each token so far', () => {
    const row = (...weights: number[]): string => rowOf(weights).toString('base64')
    const source = {
      text: 'a b',
      tokens: [
        { text: 'a', begin: 0, end: 1 },
        { text: 'b', begin: 2, end: 3 },
      ],
    }
    const partial = new PartialRecord({ source, model: 'm' }, undefined)
    expect(partial.record()).toBeNull()
    partial.add({ step: 0, text: 'x', begin: 0, end: 1, log_probability: -1, cross_mean: row(0.9, 0.1) })
    partial.add({ step: 1, text: 'yz', begin: 2, end: 4, log_probability: -2, cross_mean: row(0, 1) })
    const record = partial.record()!
    expect(record.target.text).toBe('x yz')
    expect(record.log_probability).toBe(-3)
    expect(record.attentions[0]).toMatchObject({ kind: 'cross', layers: 1, heads: 1, rows: 2, columns: 2 })
    expect(record.attentions[0]!.weights[0]![0]).toBeCloseTo(0.9, 4)
    expect(record.attentions[0]!.weights[0]!.slice(2)).toEqual(Float32Array.of(0, 1))
    // Another hypothesis is the best: what they have in common stays, with its rows.
    partial.revise({ step: 1, end: 1 })
    expect(partial.output).toBe('x')
    expect(partial.record()!.attentions[0]!.rows).toBe(1)
    partial.add({ step: 1, text: '看', begin: 2, end: 3, log_probability: -1, cross_mean: row(1, 0) })
    expect(partial.output).toBe('x 看')
    expect(partial.record()!.attentions[0]!.weights[0]!.slice(2)).toEqual(Float32Array.of(1, 0))
    partial.revise({ step: 0, end: 0 })
    expect(partial.record()).toBeNull()
  })
})

describe('the address', () => {
  it('has nothing of the defaults', () => expect(encode({ ...kDefaults })).toBe(''))
  it('comes back as it was', () => {
    const state: State = {
      ...kDefaults,
      text: 'a & b # 看书 <i>',
      beam: 4,
      nbest: 3,
      sample: true,
      temperature: 0.75,
      top_k: 40,
      top_p: 0.95,
      seed: 7,
      view: 'flow',
      how: 'one',
      layer: 2,
      head: 3,
      words: true,
      hide: 0.25,
      row: 0,
      lang: 'zh',
      path: ['ein', ' ', '"'],
      edits: [{ kind: 'cross', layer: 1, head: null, row: 2, weights: [0.5, 0.5] }],
    }
    expect(decode(`#${encode(state)}`)).toEqual(state)
  })
  it('ignores what it cannot read', () => {
    expect(decode('#view=nothing&temperature=0&top_p=2&seed=-1&beam=-3&edits=%7Bbroken&layer=x&unknown=1')).toEqual(
      kDefaults,
    )
  })
})

describe('text', () => {
  it('knows directions', () => {
    expect(isRightToLeft('القطة')).toBe(true)
    expect(isRightToLeft('2024')).toBe(false)
    const label = (text: string, mark = false) => ({ text, mark, spaceBefore: true })
    expect(directionOf([label('القطة'), label('</s>', true)])).toBe('rtl')
    expect(directionOf([label('看书')])).toBe('ltr')
  })
  it('shows what cannot be seen, and shortens between characters', () => {
    expect(shown({ text: ' ' })).toBe('␣')
    expect(shorten('😀😀😀😀', (part) => [...part].length <= 3)).toBe('😀😀…')
  })
})

describe('cells', () => {
  const tint = weightTint('blues', 'linear', 1, false)
  const cells = { rows: 2, columns: 2, mirror: false, tint }
  it('are one pixel each, absent ones clear', () => {
    const { pixels } = rasterise({ ...cells, weights: Float32Array.of(0, 1, NaN, 0.5) }, 20, 20)
    expect(pixels[0]!.toString(16)).toBe('ffffffff')
    expect(pixels[1]!.toString(16)).toBe('ff131211')
    expect(pixels[2]).toBe(0)
  })
  it('run from the right where the script does', () => {
    const { pixels } = rasterise({ ...cells, mirror: true, weights: Float32Array.of(0, 1, 0, 0) }, 20, 20)
    expect(pixels[0]!.toString(16)).toBe('ff131211')
  })
  it('keep every peak when there are fewer pixels', () => {
    const weights = new Float32Array(64 * 64)
    weights[37 * 64 + 21] = 1
    const { pixels, width } = rasterise({ weights, rows: 64, columns: 64, mirror: false, tint }, 16, 16)
    expect(width).toBe(16)
    expect([...pixels].filter((p) => p === tint.table[tint.table.length - 1])).toHaveLength(1)
  })
  it('show changes either way', () => {
    const change = changeTint(0.5, kLight)
    expect(change.colour(0)).toEqual([255, 255, 255])
    expect(change.colour(0.5)).toEqual([0xc0, 0x56, 0x21])
    expect(change.colour(-0.5)).toEqual([0x2b, 0x6c, 0xb0])
  })
  it('have scales as the command line has', () => {
    expect(onScale('sqrt', 0.25)).toBe(0.5)
    expect(onScale('log', 0.001)).toBe(0)
    expect(onScale('log', 1)).toBe(1)
  })
})

describe('pictures that are saved', () => {
  it('hold no token that could be markup', () => {
    const painter = new SvgPainter(kLight)
    painter.text('<script>alert(1)</script>&"\'\u0000', 1, 2, { size: 10, fill: '#000' })
    const svg = painter.finish(10, 10, '</title><script>')
    expect(svg).not.toContain('<script')
    expect(svg).toContain('&#60;script&#62;')
    expect(escapeXml('\u0001')).toBe('\ufffd')
  })
})

describe('languages', () => {
  it('fill the same blanks', () => {
    const blanks = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]!).sort()
    for (const key of Object.keys(en) as (keyof typeof en)[])
      expect([key, blanks(zh[key])]).toEqual([key, blanks(en[key])])
  })
})

describe('cells that share a pixel', () => {
  it('show the largest change, whichever way', () => {
    const change = changeTint(1, kLight)
    const raster = (list: number[]) =>
      rasterise({ weights: Float32Array.from(list), rows: 1, columns: 4, mirror: false, tint: change }, 1, 1).pixels[0]
    const alone = (w: number) =>
      rasterise({ weights: Float32Array.of(w), rows: 1, columns: 1, mirror: false, tint: change }, 1, 1).pixels[0]
    expect(raster([0.1, -0.9, 0.3, 0])).toBe(alone(-0.9))
    expect(raster([-0.1, 0.2, NaN, 0.8])).toBe(alone(0.8))
    expect(raster([NaN, NaN, NaN, NaN])).toBe(0)
  })
})
