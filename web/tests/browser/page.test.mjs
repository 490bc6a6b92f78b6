// The page in a real browser: what a person does with it, and what must never happen while they do.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  drawn,
  isAccessible,
  isMock,
  menu,
  openDecoding,
  settled,
  shaded,
  tokens,
  visit,
  why,
  written,
} from './browser.mjs'

const kViews = ['heatmap', 'flow', 'heads', 'steps', 'tree', 'compare', 'diagnostics']
const needsMock = why || (isMock ? false : 'needs what only the mock does')
const it = visit()

test('typing gives a translation', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  const before = await page.locator('output').textContent()
  await page.fill('#source', '')
  await page.type('#source', isMock ? 'a man reading' : '12 may 1999', { delay: 15 })
  await page.waitForFunction((old) => (document.querySelector('output')?.textContent ?? '').trim() !== old, before)
  await settled(page)
  const text = await written(page)
  assert.ok(text.length > 0)
  if (isMock) assert.equal(text, 'ein Mann liest')
  assert.ok((await tokens(page, 'row').count()) > 1)
})

test('pointing at a word shades the other sentence, either way', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  await tokens(page, 'row').nth(1).hover()
  assert.ok((await shaded(page, 'column')).length > 0)
  assert.match(await page.locator('.status-line').textContent(), /probability|attends most/)
  await tokens(page, 'column').nth(0).hover({ force: true })
  await drawn(page)
  assert.equal((await shaded(page, 'column')).length, 0)
  assert.ok((await shaded(page, 'row')).length > 0)
})

test('the heat map is walked with the keyboard', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  const map = page.locator('#panel .stage').first()
  await page.locator('#tab-heatmap').focus()
  for (let i = 0; i < 20 && !(await map.evaluate((e) => e === document.activeElement)); ++i)
    await page.keyboard.press('Tab')
  assert.ok(await map.evaluate((e) => e === document.activeElement))
  const first = await page.locator('.status-line').textContent()
  assert.match(first, /attends to/)
  await page.keyboard.press('ArrowRight')
  assert.notEqual(await page.locator('.status-line').textContent(), first)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => /row=\d/.test(location.hash))
  const step = Number(/row=(\d+)/.exec(page.url())[1]) + 1
  assert.ok((await page.locator('.inspector h2').textContent()).startsWith(`Step ${step} `))
})

test('tabs are one stop and turned with the arrow keys', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  await page.locator('#tab-heatmap').focus()
  await page.keyboard.press('ArrowRight')
  assert.equal(await page.locator('[role=tab][aria-selected=true]').textContent(), 'Flow')
  assert.match(
    await page.locator('#panel').textContent(),
    /The thicker a ribbon, the more attention\..*(Hidden: .*[\d.]+% of the attention|All links are shown)/s,
  )
})

test('playback steps', { skip: why }, async () => {
  const page = await it.page('view=steps')
  await settled(page)
  assert.match(await page.locator('.where').textContent(), /^1 of \d+$/)
  await page.getByRole('button', { name: 'Next step' }).click()
  assert.match(await page.locator('.where').textContent(), /^2 of/)
  assert.ok((await page.locator('.inspector h2').textContent()).startsWith('Step 2'))
  assert.ok((await page.locator('.inspector .bars li').count()) >= 2)
  // Played and paused by the page's own clock: however slow this machine is, no step goes unseen.
  await page.evaluate(async () => {
    const button = document.querySelector('.player .play')
    button.click()
    while (!document.querySelector('.where').textContent.startsWith('3 of')) await new Promise((r) => setTimeout(r))
    button.click()
  })
  await page.getByRole('button', { name: 'Play' }).waitFor()
  assert.match(await page.locator('.where').textContent(), /^3 of/)
})

test('the address restores the state', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  await page.locator('#tab-flow').click()
  await menu(page, 'Show').selectOption('words')
  await openDecoding(page)
  await menu(page, 'Beam size').selectOption('4')
  await tokens(page, 'row').nth(1).click()
  await page.waitForFunction(() => /row=1/.test(location.hash) && /beam=4/.test(location.hash))
  const address = page.url()
  const again = await it.page(new URL(address).hash.slice(1))
  await settled(again)
  assert.equal(await again.locator('[role=tab][aria-selected=true]').textContent(), 'Flow')
  assert.match(await again.locator('.about-view h2').textContent(), /by words/)
  assert.equal(await menu(again, 'Beam size').inputValue(), '4')
  assert.ok((await again.locator('.inspector h2').textContent()).startsWith('Step 2'))
  assert.equal(await again.inputValue('#source'), await page.inputValue('#source'))
})

test('a Chinese and an Arabic sentence look right', { skip: why }, async () => {
  for (const [model, text, direction] of [
    ['zh-en', '今天天气很好', 'ltr'],
    ['ar-en', 'القطة تجلس على السجادة', 'rtl'],
  ]) {
    const page = await it.page(`${isMock ? `model=${model}&` : ''}text=${encodeURIComponent(text)}`)
    await settled(page)
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 })
      await drawn(page)
      const row = page.locator('.backdrop')
      assert.equal(await row.evaluate((e) => getComputedStyle(e).direction), direction)
      const boxes = await tokens(page, 'column').evaluateAll((all) =>
        all.map((t) => ({
          left: t.getBoundingClientRect().left,
          right: t.getBoundingClientRect().right,
          clipped: t.scrollWidth > t.clientWidth + 1 || t.scrollHeight > t.clientHeight + 4,
        })),
      )
      assert.ok(
        boxes.every((b) => !b.clipped && b.left >= 0 && b.right <= width),
        JSON.stringify(boxes),
      )
      // The first word is where its script begins.
      assert.equal(boxes[0].left > boxes[1].left, direction === 'rtl')
    }
  }
})

test('a token that looks like HTML is text', { skip: why }, async () => {
  const page = await it.page(
    `text=${encodeURIComponent('<img src=x onerror="window.broken=1"> </p><script>window.broken=1</script> &amp;')}&row=0`,
  )
  await settled(page)
  for (const view of kViews) {
    const tab = page.locator(`#tab-${view}`)
    if ((await tab.count()) > 0) await tab.click()
    await drawn(page)
  }
  assert.equal(await page.evaluate(() => window.broken), undefined)
  assert.equal(await page.locator('main img, main script').count(), 0)
  assert.ok((await page.locator('.backdrop').textContent()).includes('<'))
})

test('axe finds nothing to complain of', { skip: why }, async () => {
  const page = await it.page('beam=4&nbest=2&row=1')
  await settled(page)
  for (const view of kViews) {
    const tab = page.locator(`#tab-${view}`)
    if ((await tab.count()) === 0) continue
    await tab.click()
    if (view === 'diagnostics') await menu(page, 'Decoding').selectOption('sampling')
    await drawn(page)
    for (const more of await page.locator('#panel details:not([open]) > summary').all()) await more.click()
    const isWhole = view === 'heatmap' || view === 'diagnostics'
    await isAccessible(page, view, isWhole ? null : '.views')
  }
})

test('a phone needs no scrolling aside', { skip: why }, async () => {
  const page = await it.page('beam=4&nbest=2', {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  })
  await settled(page)
  for (const view of kViews) {
    const tab = page.locator(`#tab-${view}`)
    if ((await tab.count()) === 0) continue
    await tab.click()
    await drawn(page)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(wide <= 390, `${view} is ${wide} px wide`)
  }
})

test('the interface speaks Chinese', { skip: why }, async () => {
  const page = await it.page('', { locale: 'zh-CN' })
  await settled(page)
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh')
  assert.equal(await page.locator('#tab-heatmap').textContent(), '热图')
  await page.getByLabel('语言').selectOption('en')
  assert.equal(await page.locator('#tab-heatmap').textContent(), 'Heat map')
})

test('an error of the server is told', { skip: needsMock }, async () => {
  const page = await it.page()
  await settled(page)
  await page.route('**/v1/translate', (route) =>
    route.fulfill({
      status: 503,
      contentType: 'application/json',
      body: '{"error":{"code":"overloaded","message":"Too many questions."}}',
    }),
  )
  await page.fill('#source', 'a man')
  await page.waitForSelector('[role=alert]')
  assert.match(await page.locator('[role=alert]').textContent(), /Too many questions\./)
  // The browser itself notes the status in its console.
  it.troubles.splice(0, it.troubles.length, ...it.troubles.filter((t) => !t.includes('503')))
})
