// The page without a server, from files alone: what it needs is fetched once, and then it answers by itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { executablePath, open, settled, tokens, visit, why, written } from '../browser/browser.mjs'
import { chromium } from 'playwright-core'

const it = visit()
const kPairs = JSON.parse(process.env.FOVEA_PAIRS ?? '[]')
const kMostBytes = 30e6
const empty = 'text= ' // no question until one is typed

test('what is typed is translated as the program does it, with its attention', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  for (const [source, target] of kPairs) {
    const before = await page.locator('.status').textContent()
    await page.fill('#source', source)
    await page.waitForFunction((wanted) => document.querySelector('output').textContent.startsWith(wanted), target)
    await settled(page)
    assert.equal(await written(page), target, before)
    assert.ok((await tokens(page, 'row').count()) > 1)
  }
  await tokens(page, 'row').nth(1).hover()
  assert.match(await page.locator('.status-line').textContent(), /probability|attends most/)
  for (const view of ['flow', 'heads', 'steps', 'tree', 'diagnostics', 'heatmap']) {
    await page.click(`#tab-${view}`)
    await page.waitForSelector(`#panel[aria-labelledby="tab-${view}"]`)
  }
})

test('the model stays on the machine: nothing is fetched once it is there', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  const before = it.asked.length
  await page.fill('#source', 'The children sing a song.')
  await page.waitForFunction(
    () => document.querySelector('output.live') || /./.test(document.querySelector('output').textContent),
  )
  await settled(page)
  assert.deepEqual(it.asked.slice(before), [])
})

test('all of it is less than 30 MB', { skip: why }, async () => {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const page = await (await browser.newContext({ locale: 'en-US' })).newPage()
  const sizes = []
  page.on('response', (response) =>
    sizes.push(
      response.body().then(
        (body) => body.length,
        () => 0,
      ),
    ),
  )
  await page.goto(`${it.url}#text=${encodeURIComponent('Where is the station?')}`)
  await settled(page)
  const host = await (await fetch(`${it.url}models/models.json`)).json()
  const all = (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0)
  const fetchedByWorker = host.engine + host.models.flatMap((m) => m.files).reduce((sum, f) => sum + f.bytes, 0)
  await browser.close()
  assert.ok(fetchedByWorker > 1e6)
  assert.ok(all + fetchedByWorker < kMostBytes, `${all + fetchedByWorker} bytes`)
})

test('a browser without WebAssembly is told so', { skip: why }, async () => {
  const { page: another, close } = await open()
  const page = await another(empty)
  await page.addInitScript(() => delete globalThis.WebAssembly)
  await page.reload()
  await page.waitForSelector('.failure')
  assert.match(await page.locator('.failure').textContent(), /lacks what the engine needs, WebAssembly/)
  await close()
})

test('a model that does not arrive is an error in words, not a page that waits', { skip: why }, async () => {
  const { page: another, close } = await open()
  const page = await another(empty)
  await page.context().route('**/model.safetensors', (route) => route.fulfill({ status: 404, body: 'gone' }))
  await page.reload()
  await page.waitForSelector('.failure')
  assert.match(await page.locator('.failure').textContent(), /model\.safetensors: 404/)
  await close()
})
