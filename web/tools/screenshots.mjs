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
const kSixty =
  'the old film that we saw last night in the small cinema near the river was not as good as everyone had said , ' +
  'because the story was dull and the actors were tedious , but the music was wonderful and the last scene , with the ' +
  'boat and the snow , was so moving that we forgot the boring first hour'
const turns = (...all) => encodeURIComponent(JSON.stringify(all))
const kTwenty = 'the small dog runs quickly through the deep snow and the old man in the red coat watches it happily .'
const kShots = {
  first: '',
  words4: 'text=a+man+is+reading',
  words20: `text=${encodeURIComponent(kTwenty)}`,
  words62: `text=${encodeURIComponent(kSixty)}`,
  flow62: `view=flow&text=${encodeURIComponent(kSixty)}`,
  steps62: `view=steps&text=${encodeURIComponent(kSixty)}`,
  heads62: `view=heads&text=${encodeURIComponent(kSixty)}`,
  tour: 'tour=1',
  selections: 'tour=5',
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
  classify: 'model=reviews',
  classifylong: `model=reviews&text=${encodeURIComponent(kSixty)}&removed=%5B3%2C4%5D`,
  classifyzh: 'model=reviews&lang=zh&text=这部电影很好看，但是结尾太差',
  classes: 'model=questions',
  answer: 'model=reader&row=1',
  answershort: 'model=reader&text=the+cat+sleeps.&question=who+sleeps',
  answerzh: `model=reader&lang=zh&text=${encodeURIComponent('长江大桥于一九五七年建成。它连接武昌和汉阳。设计者是梅旸春。')}&question=谁设计了大桥`,
  chatempty: 'model=talk',
  chat: `model=talk&turns=${turns('do you like rainy days ?')}`,
  chatlong: `model=talk&turns=${turns('i went to the sea last week .', 'how was it ?', kSixty)}`,
  chatzh: `model=talk&lang=zh&turns=${turns('你喜欢下雨天吗')}`,
  summarise: 'model=titles',
}
for (const scheme of ['light', 'dark']) {
  for (const width of [1440, 390]) {
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
      await page.waitForSelector('.views, .turns, .chat, .tour')
      if (name.startsWith('classifylong')) await page.getByRole('button', { name: 'Try without' }).click()
      await page.waitForTimeout(700)
      await page.screenshot({ path: `${folder}/${name}-${width}-${scheme}.png`, fullPage: true })
      await page.close()
    }
    await context.close()
  }
}
await browser.close()
server?.close()
