// Takes screenshots of every view, wide and narrow, light and dark, for review:
//   node tools/screenshots.mjs FOLDER [VIEW...]        against FOVEA_URL or the mock
import { mkdirSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { serve } from '../mock/server.mjs'

const [folder = 'screenshots', ...wanted] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const server = process.env.FOVEA_URL ? null : await serve()
const url = process.env.FOVEA_URL ?? `http://127.0.0.1:${server.address().port}/`
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
const kShots = {
  heatmap: 'row=2',
  flow: 'view=flow&row=2',
  heads: 'view=heads',
  steps: 'view=steps&row=2',
  tree: 'view=tree&beam=4&nbest=3',
  compare:
    'view=compare&edits=%5B%7B%22kind%22%3A%22cross%22%2C%22layer%22%3A1%2C%22head%22%3A1%2C%22row%22%3A2%2C%22weights%22%3A%5B0.7%2C0.1%2C0.1%2C0%2C0%2C0%2C0.1%5D%7D%5D&row=2',
  diagnostics: 'view=diagnostics',
  chinese: 'model=zh-en&lang=zh&row=1',
  arabic: 'model=ar-en&view=flow&row=1',
  arabicmap: 'model=en-ar&row=1',
  whatif: 'next=eine&prefix=ein&row=1',
}
for (const scheme of ['light', 'dark']) {
  for (const width of [1280, 390]) {
    const context = await browser.newContext({
      colorScheme: scheme,
      viewport: { width, height: width < 500 ? 844 : 860 },
      deviceScaleFactor: 1,
    })
    for (const [name, hash] of Object.entries(kShots)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue
      const page = await context.newPage()
      page.on('console', (m) => ['error', 'warning'].includes(m.type()) && console.log(name, m.text()))
      page.on('pageerror', (e) => console.log(name, e.message))
      await page.goto(`${url}#${hash}`)
      await page.waitForSelector('.inspector')
      await page.waitForTimeout(500)
      await page.screenshot({ path: `${folder}/${name}-${width}-${scheme}.png`, fullPage: true })
      await page.close()
    }
    await context.close()
  }
}
await browser.close()
server?.close()
