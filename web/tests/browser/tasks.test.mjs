// The forms of every task in a real browser, wide and narrow.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { drawn, isAccessible, isMock, menu, shaded, tokens, visit, why } from './browser.mjs'

const skip = why || (isMock ? false : 'needs the models of the mock')
const it = visit()
const kWidths = [1440, 390]
const kSixty = Array.from({ length: 60 }, (_, i) =>
  i % 9 === 4 ? 'wonderful' : i % 11 === 3 ? 'dull' : `word${i}`,
).join(' ')

const wide = (width) => ({ viewport: { width, height: 860 } })
const address = (values) => new URLSearchParams(values).toString()
const answered = async (page) => {
  await page.waitForFunction(() => /\d/.test(document.querySelector('.status')?.textContent ?? ''))
  await page.waitForSelector('.views')
  await drawn(page)
}
// Nothing reaches beyond the window: only panes scroll.
async function fits(page, width) {
  const most = await page.evaluate(() => document.documentElement.scrollWidth)
  assert.ok(most <= width, `${most} of ${width}`)
}
const label = async (page) => (await page.locator('output').textContent()).trim()

for (const width of kWidths) {
  test(`a text is classified, with a bar for each class, at ${width}`, { skip }, async () => {
    for (const text of ['not a good film', kSixty]) {
      const page = await it.page(address({ model: 'reviews', text }), wide(width))
      await answered(page)
      assert.match(await label(page), /^(positive|negative) [\d.]+%$/)
      assert.equal(await page.locator('.classes li').count(), 2)
      // The mean and three hops, each with every word.
      assert.equal(await page.locator('.highlights .shaded').count(), 4)
      const words = text.split(' ').length + 1
      assert.equal(await page.locator('.highlights .shaded').first().locator('.token').count(), words)
      const marked = await page
        .locator('.highlights .shaded')
        .first()
        .locator('.token')
        .evaluateAll((all) => all.filter((t) => t.style.backgroundColor !== '').length)
      assert.ok(marked > 0)
      await fits(page, width)
    }
  })

  test(`a question is answered in its passage, at ${width}`, { skip }, async () => {
    const page = await it.page(address({ model: 'reader' }), wide(width))
    await answered(page)
    const best = await page.locator('.candidates button').first().locator('bdi').textContent()
    assert.ok((await label(page)).startsWith(best))
    const marked = page.locator('.token.answer')
    assert.ok((await marked.allTextContents()).join('').includes(best.replace(/\s/g, '')))
    // Another answer is marked elsewhere.
    await page.locator('.candidates button').nth(1).click()
    const second = await page.locator('.candidates button').nth(1).locator('bdi').textContent()
    await page.waitForFunction((text) => document.querySelector('output').textContent.startsWith(text), second)
    assert.notEqual((await marked.allTextContents()).join(''), best)
    await page.waitForFunction(() => location.hash.includes('rank=2'))
    await fits(page, width)
  })

  test(`a conversation goes on, at ${width}`, { skip }, async () => {
    const page = await it.page(address({ model: 'talk' }), wide(width))
    await page.locator('.say textarea').fill('do you like rainy days ?')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.turns button[aria-pressed=true]')
    await answered(page)
    assert.equal(await page.locator('.say textarea').inputValue(), '')
    assert.equal(await page.locator('.turns .mine').count(), 1)
    await page.locator('.say textarea').fill(kSixty)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.waitForFunction(() => document.querySelectorAll('.turns button').length === 2)
    await answered(page)
    // What the reply attended to is marked in the turns before it.
    const shades = await page
      .locator('.turns .mine span span')
      .evaluateAll((all) => all.filter((s) => s.style.backgroundColor).length)
    assert.ok(shades > 0)
    assert.match(await page.locator('.about-view h2').textContent(), /Cross-attention/)
    await fits(page, width)
    // An earlier reply shows its own attention.
    await page.locator('.turns button').first().click()
    await page.waitForFunction(() => document.querySelector('.turns button').getAttribute('aria-pressed') === 'true')
    await page.waitForFunction(() => location.hash.includes('reply=1'))
    assert.doesNotMatch(await page.locator('[aria-labelledby="side-column"]').textContent(), /word7/)
  })

  test(`a text is summarised, at ${width}`, { skip }, async () => {
    const page = await it.page(address({ model: 'titles' }), wide(width))
    await answered(page)
    assert.ok((await label(page)).length > 0)
    assert.ok((await page.locator('#source').boundingBox()).height >= 140)
    // The search of the server for this task, in place of a greedy one.
    assert.match(await page.locator('body').textContent(), /beam search, size 8/)
    await fits(page, width)
  })
}

test('words can be left out of a text, one or each', { skip }, async () => {
  const page = await it.page(address({ model: 'reviews', text: 'not a good film' }), wide(1440))
  await answered(page)
  assert.match(await label(page), /^negative/)
  await page.locator('.highlights button.token').first().click()
  await page.waitForSelector('.classes .then')
  assert.match(await page.locator('.classes .change').first().textContent(), /−\d/)
  await page.waitForFunction(() => location.hash.includes('removed='))
  // The address restores it.
  const again = await it.page(new URL(page.url()).hash.slice(1), wide(1440))
  await again.waitForSelector('.classes .then')
  assert.equal(await again.locator('.highlights .removed').count(), 1)
  await again.getByRole('button', { name: 'Restore all words' }).click()
  await again.waitForFunction(() => !document.querySelector('.classes .then'))
  await again.getByRole('button', { name: 'Try without each word' }).click()
  await again.waitForSelector('.top li')
  assert.match(await again.locator('.top li').first().textContent(), /good|not/)
  assert.ok(
    (await again.locator('.losses .token').evaluateAll((all) => all.filter((t) => t.style.backgroundColor).length)) > 0,
  )
  // New text forgets it.
  await again.fill('#source', 'a dull film')
  await again.waitForFunction(() => !document.querySelector('.losses'))
})

test('pointing at a word of the question shades the passage', { skip }, async () => {
  const page = await it.page(address({ model: 'reader' }), wide(1440))
  await answered(page)
  await tokens(page, 'column').filter({ hasText: 'deck' }).first().hover()
  assert.ok((await shaded(page, 'row')).length > 0)
  await menu(page, 'Attention').selectOption('question-to-passage')
  await tokens(page, 'row').first().hover()
  assert.ok((await shaded(page, 'column')).length > 0)
  // What is of written text is not offered.
  assert.equal(await page.locator('#tab-tree').count(), 0)
  assert.equal(await page.locator('.inspector').count(), 0)
})

test('a conversation is restored, replied to again and reset', { skip }, async () => {
  const turns = JSON.stringify(['hello', 'really ? i did not know that .'])
  const page = await it.page(address({ model: 'talk', turns, sample: '1' }), wide(390))
  await answered(page)
  assert.equal(await page.locator('.turns button').textContent(), 'Model: really ? i did not know that .')
  assert.match(await page.locator('[aria-labelledby="side-row"]').textContent(), /really/)
  await page.getByRole('button', { name: 'Reply again' }).click()
  await page.waitForFunction(() => document.querySelector('.turns button')?.getAttribute('aria-pressed') === 'true')
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.waitForFunction(() => !document.querySelector('.turns') && !location.hash.includes('turns='))
  assert.equal(await page.locator('.views').count(), 0)
})

test('choosing a model brings its form and its example', { skip }, async () => {
  const page = await it.page('', wide(1440))
  await page.waitForSelector('.views')
  await page.locator('header select').first().selectOption('reviews')
  await page.waitForSelector('.classes li')
  assert.equal(await page.inputValue('#source'), 'a charming and often moving film')
  await page.locator('header select').first().selectOption('reader')
  await page.waitForSelector('.token.answer')
  assert.ok((await page.inputValue('#question')).length > 0)
  await page.locator('header select').first().selectOption('talk')
  await page.waitForSelector('.say')
  await page.getByRole('button', { name: 'do you like rainy days ?' }).click()
  await page.waitForSelector('.turns button')
  await page.locator('header select').first().selectOption('en-de')
  await page.waitForSelector('.inspector')
  // Models of another task are no comparison.
  await page.locator('#tab-compare').click()
  const names = await page.getByLabel('Compare with').locator('option').allTextContents()
  assert.ok(names.includes('titles') && !names.includes('reviews') && !names.includes('talk'), names.join())
})

test('a saved record of a classifier or reader opens in its view', { skip }, async () => {
  for (const [model, selector] of [
    ['reviews', '.highlights .shaded'],
    ['reader', '.token.answer'],
  ]) {
    const page = await it.page(address({ model }), wide(1440))
    await answered(page)
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save this view as JSON' }).click(),
    ])
    const content = await readFile(await saved.path())
    const other = await it.page('', wide(390))
    await other.waitForSelector('.inspector')
    await other.setInputFiles('input[type=file]', { name: 'saved.json', mimeType: 'application/json', buffer: content })
    await other.waitForSelector(selector)
    assert.match(await other.locator('.status').first().textContent(), /saved\.json/)
    assert.ok((await label(other)).length > 1)
    assert.equal(await other.locator('.highlights button.token').count(), 0)
    await other.getByRole('button', { name: 'Close the file' }).click()
    await other.waitForSelector('.inspector')
  }
})

test('the new forms are accessible and in Chinese, too', { skip }, async () => {
  for (const values of [
    { model: 'reviews', removed: '[1]' },
    { model: 'reader' },
    { model: 'talk', turns: '["hello"]' },
    { model: 'reviews', lang: 'zh' },
  ]) {
    const page = await it.page(address(values), wide(1440))
    await page.waitForSelector('.views')
    await drawn(page)
    if (values.lang) assert.match(await page.locator('main').textContent(), /类别/)
    await isAccessible(page, JSON.stringify(values))
  }
})
