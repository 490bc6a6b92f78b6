// How long the page takes, with the weights of the mock: first paint, pointing at 512 × 512 cells, painting 2,048 × 2,048.
import { menu, open, settled } from './browser.mjs'

const it = await open()
const spread = (list) => {
  const sorted = [...list].sort((a, b) => a - b)
  return `median ${sorted[sorted.length >> 1].toFixed(1)} ms, most ${sorted.at(-1).toFixed(1)} ms`
}
const durations = (page, name) => page.evaluate((n) => performance.getEntriesByName(n).map((e) => e.duration), name)
const paints = []
for (let i = 0; i < 5; ++i) {
  const fresh = await it.page('', { locale: `en-${i}` }) // a context of its own, without a cache
  await settled(fresh)
  paints.push(await fresh.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN))
  await fresh.close()
}
console.log(`first contentful paint: ${spread(paints)}`)

let page = await it.page('model=large&text=512')
await settled(page)
const box = await page.locator('#panel .stage').first().boundingBox()
await page.evaluate(() => performance.clearMeasures())
const frames = page.evaluate(
  () =>
    new Promise((done) => {
      const times = []
      let last = performance.now()
      const tick = (now) => {
        times.push(now - last)
        last = now
        times.length < 60 ? requestAnimationFrame(tick) : done(times)
      }
      requestAnimationFrame(tick)
    }),
)
for (let i = 0; i < 60; ++i) await page.mouse.move(box.x + 80 + i * 5, box.y + 60 + i * 4)
console.log(`512 × 512 hover: overlay ${spread(await durations(page, 'fovea:light'))}; frames ${spread(await frames)}`)

page = await it.page('model=large&text=2048')
await settled(page)
await page.locator('.lens .more > summary').click()
await page.evaluate(() => performance.clearMeasures())
for (const scale of ['sqrt', 'log', 'linear', 'sqrt', 'log', 'linear']) {
  await menu(page, 'Scale').selectOption(scale)
  await page.waitForTimeout(120)
}
console.log(`2,048 × 2,048 repaint: ${spread(await durations(page, 'fovea:paint'))}`)
await it.close()
