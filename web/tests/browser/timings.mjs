// How long the page takes, with the weights of the mock: first paint, pointing at 512 × 512 cells, painting 2,048 × 2,048.
// Times of the main thread are those of its processor, so that other programs on the machine do not count.
import { menu, open, settled } from './browser.mjs'

const it = await open()
const spread = (list) => {
  const sorted = [...list].sort((a, b) => a - b)
  return `median ${sorted[sorted.length >> 1].toFixed(1)} ms, most ${sorted.at(-1).toFixed(1)} ms`
}
const durations = (page, name) => page.evaluate((n) => performance.getEntriesByName(n).map((e) => e.duration), name)

// Milliseconds of the main thread until now.
async function clockOf(page) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1000 * metrics.find((m) => m.name === 'ThreadTime').value
  }
}

const [paints, busy] = [[], []]
for (let i = 0; i < 5; ++i) {
  const fresh = await it.emptyPage({ viewport: { width: 1280 + i, height: 900 } }) // a context of its own, without a cache
  const clock = await clockOf(fresh)
  const before = await clock()
  await fresh.goto(it.url)
  await fresh.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0)
  busy.push((await clock()) - before)
  paints.push(await fresh.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime))
  await settled(fresh)
  await fresh.close()
}
console.log(`first contentful paint: ${spread(paints)}; main thread until then ${spread(busy)}`)

let page = await it.page('model=large&text=512')
await settled(page)
const box = await page.locator('#panel .stage').first().boundingBox()
await page.evaluate(() => performance.clearMeasures())
const clock = await clockOf(page)
const kMoves = 120
const before = await clock()
for (let i = 0; i < kMoves; ++i) {
  await page.mouse.move(box.x + 80 + i * 3, box.y + 60 + i * 2)
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)))
}
const each = ((await clock()) - before) / kMoves
const overlay = spread(await durations(page, 'fovea:light'))
console.log(`512 × 512 hover: main thread ${each.toFixed(2)} ms a frame (60 a second leave 16.7); overlay ${overlay}`)

page = await it.page('model=large&text=2048')
await settled(page)
await page.locator('.lens .more > summary').click()
await page.evaluate(() => performance.clearMeasures())
for (const [i, scale] of ['sqrt', 'log', 'linear', 'sqrt', 'log', 'linear'].entries()) {
  await menu(page, 'Scale').selectOption(scale)
  await page.waitForFunction((n) => performance.getEntriesByName('fovea:paint').length > n, i)
}
console.log(`2,048 × 2,048 repaint: ${spread(await durations(page, 'fovea:paint'))}`)
await it.close()
