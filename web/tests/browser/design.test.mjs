// What makes the page easy to read: what a first visitor is told, light and dark, what a finger can do, the tour, what is
// remembered, and what is said when something is missing.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { drawn, isAccessible, isMock, menu, settled, shaded, tokens, visit, why, written } from './browser.mjs'

const skip = why || (isMock ? false : 'needs the models of the mock')
const it = visit()
const kPhone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
const kLong =
  'the old film that we saw last night in the small cinema near the river was not as good as everyone had said , ' +
  'because the story was dull and the actors were tedious , but the music was wonderful and the last scene , with the ' +
  'boat and the snow , was so moving that we forgot the boring first hour'
const long = (view) => `view=${view}&text=${encodeURIComponent(kLong)}`

test('a first visitor is told how to read the picture, once', { skip }, async () => {
  const page = await it.page()
  await settled(page)
  // A word is selected, and what is said is about it.
  const word = await page.locator('.token.picked').first().textContent()
  assert.ok((await page.locator('.introduction').textContent()).includes(word))
  assert.ok((await page.locator('.inspector h2').textContent()).includes(word))
  assert.match(await page.locator('.lede').textContent(), /not a proof of cause/)
  // Both sentences are there once.
  const text = await page.locator('main').evaluate((main) => main.innerText)
  assert.equal(text.split(await written(page)).length, 2)
  await page.getByRole('button', { name: 'Got it' }).click()
  assert.equal(await page.locator('.introduction').count(), 0)
  await page.reload()
  await settled(page)
  assert.equal(await page.locator('.introduction').count(), 0)
  assert.match(await page.locator('.about-view').textContent(), /Each row is a word of the output/)
})

test('every view has a sentence, and every term an explanation', { skip }, async () => {
  const page = await it.page('beam=4')
  await settled(page)
  for (const view of ['heatmap', 'flow', 'heads', 'steps', 'tree', 'compare', 'diagnostics']) {
    await page.locator(`#tab-${view}`).click()
    await drawn(page)
    if (view !== 'heatmap') assert.ok((await page.locator('.about-view p').textContent()).length > 40, view)
  }
  const help = page.getByRole('button', { name: 'Explain: Beam size' })
  await help.focus()
  await page.keyboard.press('Enter')
  const note = page.locator('.help-note:popover-open')
  assert.match(await note.textContent(), /unfinished outputs/)
  const { x, width } = await note.boundingBox()
  assert.ok(x >= 0 && x + width <= 1280)
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('.help-note:popover-open').count(), 0)
})

test('settings do not close while they are set', { skip }, async () => {
  const page = await it.page('scale=log&beam=4')
  await settled(page)
  await menu(page, 'Scale').selectOption('linear')
  await menu(page, 'Beam size').selectOption('1')
  await drawn(page)
  assert.equal(await menu(page, 'Scale').inputValue(), 'linear')
  assert.ok((await menu(page, 'Scale').isVisible()) && (await menu(page, 'Beam size').isVisible()))
})

test('light and dark are switched and remembered', { skip }, async () => {
  const page = await it.page('', { colorScheme: 'light' })
  await settled(page)
  const paper = () => page.locator('.views').evaluate((e) => getComputedStyle(e).backgroundColor)
  const before = await paper()
  await page.getByRole('button', { name: 'Dark mode' }).click()
  assert.notEqual(await paper(), before)
  await page.reload()
  await settled(page)
  assert.equal(await page.getByRole('button', { name: 'Dark mode' }).getAttribute('aria-pressed'), 'true')
  assert.notEqual(await paper(), before)
})

test('a finger does it all, and the picture comes first', { skip }, async () => {
  const page = await it.page('', kPhone)
  await settled(page)
  const map = page.locator('#panel .stage').first()
  const box = await map.boundingBox()
  assert.ok(box.y < 700, `the picture begins at ${box.y} px`)
  const before = await page.locator('.status-line').textContent()
  await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2)
  await drawn(page)
  assert.notEqual(await page.locator('.status-line').textContent(), before)
  await tokens(page, 'row').first().tap()
  await page.waitForFunction(() => location.hash.includes('row=0'))
  await page.getByRole('button', { name: 'Zoom in' }).tap()
  await drawn(page)
  assert.ok((await map.boundingBox()).width > box.width)
  await page.locator('.lens .more > summary').tap()
  await page.getByLabel('Each row to its maximum', { exact: true }).check()
  await drawn(page)
  assert.match(await page.locator('.legend canvas').getAttribute('aria-label'), /largest: 0\.00 – 1\.00/)
  await page.getByRole('button', { name: 'Explain: Scale' }).tap()
  assert.match(await page.locator('.help-note:popover-open').textContent(), /weights become colours/)
  await page.keyboard.press('Escape')
  // Every tab is reached by scrolling, and selecting one shows it whole.
  await page.locator('#tab-diagnostics').tap()
  await drawn(page)
  const tab = await page.locator('#tab-diagnostics').boundingBox()
  assert.ok(tab.x >= 0 && tab.x + tab.width <= 390)
  assert.match(await page.locator('.about-view').textContent(), /A hint at trouble/)
  // Nothing tells a finger to hover.
  assert.doesNotMatch(await page.locator('body').innerText(), /[Hh]over|[Pp]oint at/)
})

test('a long sentence stays readable: steps are a player, maps fit and zoom', { skip }, async () => {
  const page = await it.page(long('steps'))
  await settled(page)
  assert.ok((await page.locator('#panel').boundingBox()).height < 900)
  await page.locator('.player input').fill('40')
  assert.match(await page.locator('.where').textContent(), /^40 of/)
  assert.match(await page.locator('.inspector h2').textContent(), /^Step 40/)
  await page.locator('#tab-heatmap').click()
  await drawn(page)
  await page.setViewportSize({ width: 700, height: 900 })
  await drawn(page)
  const pane = page.locator('#panel .pane').first()
  const isScrolled = () => pane.evaluate((e) => e.scrollWidth > e.clientWidth)
  assert.ok(await isScrolled())
  await page.getByRole('button', { name: 'Fit' }).click()
  await drawn(page)
  assert.ok(!(await isScrolled()))
})

test('history, copies and a figure', { skip }, async () => {
  const page = await it.page('', { permissions: ['clipboard-read', 'clipboard-write'] })
  await settled(page)
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.waitForFunction(() =>
    /Copied/.test(document.querySelector('.under')?.parentElement.parentElement.textContent),
  )
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await written(page))
  await page.getByRole('button', { name: 'Copy HTML' }).click()
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith('<figure'))
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Figure for a paper' }).click(),
  ])
  const svg = await readFile(await download.path(), 'utf8')
  assert.match(svg, /Made with Fovea from the model en-de/)
  // A figure has no colour: red, green and blue of every colour are the same.
  for (const [, colour] of svg.matchAll(/(?:fill|stroke)="#([0-9a-f]{6})"/g))
    assert.equal(new Set(colour.match(/../g)).size, 1, colour)
  // What was asked before is in the history.
  const first = await page.inputValue('#source')
  await page.waitForSelector('.past')
  await page.fill('#source', 'a man')
  await page.waitForFunction(() => /Mann/.test(document.querySelector('output').textContent))
  await page.locator('.past > summary').click()
  await page.locator('.past li button', { hasText: first }).click()
  assert.equal(await page.inputValue('#source'), first)
})

test('a translation is translated back', { skip }, async () => {
  const page = await it.page('model=ar-en')
  await settled(page)
  const text = await written(page)
  await page.getByRole('button', { name: 'Swap' }).click()
  await page.waitForFunction(() => location.hash.includes('model=en-ar'))
  assert.equal(await page.inputValue('#source'), text)
})

test('models of different languages are compared with a warning', { skip }, async () => {
  const page = await it.page('view=compare&second=en-ar')
  await settled(page)
  assert.match(await page.locator('#panel').textContent(), /different languages \(en → de and en → ar\)/)
  await page.getByLabel('Compare with').selectOption('en-de-small')
  await page.waitForFunction(() => !/different languages/.test(document.querySelector('#panel').textContent))
})

test('the caret in a word of the source selects its column', { skip }, async () => {
  const page = await it.page()
  await settled(page)
  await page.locator('#source').focus()
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await drawn(page)
  assert.match(await page.locator('.status-line').textContent(), /dog.? receives/)
})

test('the tour is walked with the keyboard, without a server, and is accessible', { skip }, async () => {
  let page = await it.page('tour=1')
  await page.waitForSelector('.tour')
  await page.getByRole('button', { name: 'Next step' }).focus()
  for (let i = 0; i < 6; ++i) await page.keyboard.press('Enter')
  assert.match(await page.locator('.says').textContent(), /chooses “爱”, with probability 92\.5%/)
  for (let at = 1; ; ++at) {
    await isAccessible(page, `page ${at}`, at === 1 ? null : '.tour')
    const next = page.getByRole('button', { name: 'Next', exact: true })
    if ((await next.count()) === 0) break
    await next.focus()
    await page.keyboard.press('Enter')
    await page.waitForFunction(
      (n) => document.querySelector('.tour .pages .where').textContent.startsWith(`${n} `),
      at + 1,
    )
  }
  await page.getByRole('button', { name: 'Show the heads of my sentence' }).click()
  await page.waitForSelector('.heads')
  // With the server gone, sliders work: a window of 0 leaves one word.
  page = await it.page('tour=4')
  await page.route('**/v1/**', (route) => route.abort())
  await page.reload()
  await page.getByRole('slider').fill('0')
  await drawn(page)
  assert.equal(await page.locator('.weighed .out').count(), 4)
  it.troubles.splice(0, it.troubles.length, ...it.troubles.filter((x) => !x.includes('ERR_FAILED')))
})

test('what was shown stays, dimmed, when the server is gone', { skip }, async () => {
  const page = await it.page()
  await settled(page)
  const before = await written(page)
  await page.route('**/v1/translate', (route) => route.abort())
  await page.fill('#source', 'a man')
  await page.waitForSelector('.stale output')
  assert.equal(await written(page), before)
  assert.match(await page.locator('[role=alert]').textContent(), /from before/)
  it.troubles.splice(0, it.troubles.length, ...it.troubles.filter((x) => !x.includes('ERR_FAILED')))
  assert.equal(await menu(page, 'Model').inputValue(), 'en-de')
})

test('a paragraph is translated sentence by sentence, and each is shown', { skip }, async () => {
  const text = 'a dog runs through the snow . the old man is reading a newspaper . a woman with a red jacket'
  const page = await it.page(`words=1&text=${encodeURIComponent(text)}`)
  await settled(page)
  const parts = page.locator('.parts .part')
  assert.deepEqual(await parts.allTextContents(), [
    'der alter Mann ist liest ein Zeitung .',
    'ein Frau mit ein roten Jacke',
  ])
  assert.match(await page.locator('.box').last().textContent(), /Sentence 1 of 3/)
  const first = await tokens(page, 'row').allTextContents()
  await parts.first().click()
  await page.waitForFunction(() => location.hash.includes('part=2'))
  await page.waitForFunction(() => /Zeitung/.test(document.querySelector('.parts .tokens')?.textContent))
  await drawn(page)
  assert.notDeepEqual(await tokens(page, 'row').allTextContents(), first)
  // Its words in the field are those of the columns: the second sentence is not faint.
  assert.match(await page.locator('.backdrop .other').first().textContent(), /snow \./)
  await tokens(page, 'row').filter({ hasText: 'Zeitung' }).hover()
  assert.ok((await shaded(page, 'column')).includes('newspaper'))
  // The cursor in the text selects a sentence, too.
  await page.locator('#source').focus()
  await page.keyboard.press('Control+End')
  await page.waitForFunction(() => location.hash.includes('part=3'))
  await page.waitForFunction(() => /Jacke/.test(document.querySelector('.parts .tokens')?.textContent))
})

test('words that the model does not know are marked, and what it wrote for them', { skip }, async () => {
  const page = await it.page(`text=${encodeURIComponent('a dog 🎉 runs')}&model=en-de-small`)
  await settled(page)
  assert.equal(await page.locator('.backdrop .unknown').textContent(), '🎉')
  assert.match(await page.locator('.ask').textContent(), /does not know: .*🎉/)
  const guesses = await page.locator('output .unknown').allTextContents()
  assert.ok(guesses.includes('🎉') && !guesses.includes('Hund'), guesses.join())
  await page.fill('#source', 'a dog runs')
  await page.waitForFunction(() => !document.querySelector('.unknown'))
  assert.doesNotMatch(await page.locator('.ask').textContent(), /does not know/)
})

test('the flow of a long sentence is grouped by phrase, and pointing finds the words', { skip }, async () => {
  const page = await it.page(long('flow'))
  await settled(page)
  const grouping = page.getByLabel('Group by phrase', { exact: true })
  assert.ok(await grouping.isChecked())
  const links = async () => Number(/of (\d+) links/.exec(await page.locator('#panel').textContent())[1])
  const byPhrases = await links()
  // A word that is pointed at elsewhere is lit in its phrase, whose first word is marked in turn.
  const map = page.locator('#panel .stage').first()
  await tokens(page, 'row').nth(3).hover()
  await drawn(page)
  const lit = await map.locator('canvas.over').evaluate((c) =>
    c
      .getContext('2d')
      .getImageData(0, 0, c.width, c.height)
      .data.some((x) => x > 0),
  )
  assert.ok(lit)
  await grouping.uncheck()
  await drawn(page)
  assert.ok((await links()) > byPhrases)
  await page.waitForFunction(() => location.hash.includes('phrases=0'))
})
