// The heat map of a long sentence: every word has a label that can be read, the scale ends at the largest weight, and the
// rows' labels stay in sight when the map is scrolled.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { settled, visit, why } from './browser.mjs'

const it = visit()

function recordOf(count) {
  const side = (word) => {
    const words = Array.from({ length: count }, (_, i) => `${word}${i}`)
    let begin = 0
    const tokens = words.map((text) => ({ text, begin, end: (begin += text.length + 1) - 1, starts_word: true }))
    return { text: words.join(' '), tokens }
  }
  const weights = Array.from({ length: count }, (_, r) =>
    Array.from({ length: count }, (_, c) => (r === c ? 0.4 : 0.6 / (count - 1))),
  )
  return {
    fovea_record: 1,
    line: 1,
    rank: 1,
    architecture: 'bahdanau',
    search: 'greedy',
    source: side('word'),
    target: side('Wort'),
    steps: weights.map(() => ({ log_probability: -0.1, alternatives: [] })),
    score: -1,
    log_probability: -1,
    ended: true,
    cut: false,
    attentions: [
      { kind: 'cross', mechanism: 'additive, global, soft', scope: 'global', selection: 'soft', weights: [[weights]] },
    ],
  }
}

async function opened(count, size) {
  const page = await it.page()
  if (size) await page.setViewportSize(size)
  await settled(page)
  await page.getByLabel('Open a record').setInputFiles({
    name: 'long.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(recordOf(count))),
  })
  await page.waitForFunction(() => document.querySelector('.status').textContent.includes('from long.json'))
  return page
}

test('every one of 60 words has a label that can be read', { skip: why }, async () => {
  const page = await opened(60)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'as SVG' }).click(),
  ])
  const svg = await readFile(await download.path(), 'utf8')
  for (let i = 0; i < 60; ++i)
    for (const word of [`word${i}`, `Wort${i}`]) assert.ok(svg.includes(`>${word}</text>`), word)
  const sizes = [...svg.matchAll(/font-size="([\d.]+)"/g)].map((m) => Number(m[1]))
  assert.ok(Math.min(...sizes) >= 11, String(Math.min(...sizes)))
  assert.ok(svg.includes('>0.4</text>'))
  assert.equal(await page.locator('.legend canvas').getAttribute('aria-label'), 'attention: 0.00 – 0.40')
})

test('the labels of rows stay in sight on a phone', { skip: why }, async () => {
  const page = await opened(60, { width: 390, height: 844 })
  const place = () => page.locator('canvas.edge.left').evaluate((c) => Math.round(c.getBoundingClientRect().left))
  const before = await place()
  await page
    .locator('#panel .pane')
    .first()
    .evaluate((pane) => (pane.scrollLeft = 400))
  assert.ok(Math.abs((await place()) - before) <= 2)
})
