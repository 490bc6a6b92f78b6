// The page in a real browser: what a person does with it, and what must never happen while they do.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { isMock, open, settled, shaded, tokens, why } from './browser.mjs'

const kViews = ['heatmap', 'flow', 'heads', 'steps', 'tree', 'compare', 'diagnostics']
const kSentence = 'a dog runs through the snow'
const needsMock = why || (isMock ? false : 'needs the models of the mock')
let it

before(async () => {
  if (!why) it = await open()
})
after(async () => {
  if (!it) return
  await it.close()
  // Every page above was watched: nothing left the machine, the policy was never broken.
  assert.deepEqual(it.troubles, [])
})

test('typing gives a translation', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  const before = await page.locator('output').textContent()
  await page.fill('#source', '')
  await page.type('#source', isMock ? 'a man reading' : '12 may 1999', { delay: 15 })
  await page.waitForFunction((old) => (document.querySelector('output')?.textContent ?? '').trim() !== old, before)
  await settled(page)
  const text = (await page.locator('output').textContent()).trim()
  assert.ok(text.length > 0)
  if (isMock) assert.equal(text, 'ein Mann liest')
  assert.ok((await tokens(page, 'row').count()) > 1)
})

test('pointing at a word shades what it looked at, and who looked at it', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  await tokens(page, 'row').nth(1).hover()
  assert.ok((await shaded(page, 'column')).length > 0)
  assert.match(await page.locator('.said').textContent(), /probability|looks most/)
  await tokens(page, 'column').nth(0).hover()
  await page.waitForTimeout(50)
  assert.equal((await shaded(page, 'column')).length, 0)
  assert.ok((await shaded(page, 'row')).length > 0)
})

test('the heat map is walked with the keyboard', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  const map = page.locator('#panel .stage').first()
  await page.locator('#tab-heatmap').focus()
  for (let i = 0; i < 3 && !(await map.evaluate((e) => e === document.activeElement)); ++i) await page.keyboard.press('Tab')
  assert.ok(await map.evaluate((e) => e === document.activeElement))
  const first = await page.locator('.said').textContent()
  assert.match(first, /looks at/)
  await page.keyboard.press('ArrowRight')
  assert.notEqual(await page.locator('.said').textContent(), first)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => location.hash.includes('row=1'))
  assert.equal(await page.locator('.inspector h2').textContent().then((t) => t.startsWith('Step 2')), true)
})

test('tabs are one stop and turned with the arrow keys', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  await page.locator('#tab-heatmap').focus()
  await page.keyboard.press('ArrowRight')
  assert.equal(await page.locator('[role=tab][aria-selected=true]').textContent(), 'Flow')
  assert.match(await page.locator('#panel').textContent(), /Ribbons are as thick as weights; the picture (hides [\d.]+% of the attention|draws every link)/)
})

test('playback steps', { skip: why }, async () => {
  const page = await it.page('view=steps')
  await settled(page)
  assert.match(await page.locator('.where').textContent(), /^1 of \d+$/)
  await page.getByRole('button', { name: 'Next step' }).click()
  assert.match(await page.locator('.where').textContent(), /^2 of/)
  assert.ok((await page.locator('.inspector h2').textContent()).startsWith('Step 2'))
  assert.ok((await page.locator('.inspector .bars li').count()) >= 2)
  await page.getByRole('button', { name: 'Play' }).click()
  await page.waitForFunction(() => document.querySelector('.where').textContent.startsWith('3 of'))
  await page.getByRole('button', { name: 'Pause' }).click()
})

test('the address restores the state', { skip: why }, async () => {
  const page = await it.page()
  await settled(page)
  await page.locator('#tab-flow').click()
  await page.getByLabel('Units').selectOption('words')
  await page.getByLabel('Beam').selectOption('4')
  await tokens(page, 'row').nth(1).click()
  await page.waitForTimeout(400)
  const address = page.url()
  const again = await it.page(new URL(address).hash.slice(1))
  await settled(again)
  assert.equal(await again.locator('[role=tab][aria-selected=true]').textContent(), 'Flow')
  assert.match(await again.locator('.lens h2').textContent(), /by words/)
  assert.equal(await again.getByLabel('Beam').inputValue(), '4')
  assert.ok((await again.locator('.inspector h2').textContent()).startsWith('Step 2'))
  assert.equal(await again.inputValue('#source'), await page.inputValue('#source'))
})

test('a Chinese and an Arabic sentence look right', { skip: why }, async () => {
  for (const [model, text, direction] of [['zh-en', '今天天气很好', 'ltr'], ['ar-en', 'القطة تجلس على السجادة', 'rtl']]) {
    for (const width of [1280, 390]) {
      const page = await it.page(`${isMock ? `model=${model}&` : ''}text=${encodeURIComponent(text)}`, { viewport: { width, height: 844 } })
      await settled(page)
      const row = page.locator('[aria-labelledby="side-column"]')
      assert.equal(await row.evaluate((e) => getComputedStyle(e).direction), direction)
      const boxes = await tokens(page, 'column').evaluateAll((all) => all.map((t) => ({ left: t.getBoundingClientRect().left, right: t.getBoundingClientRect().right, clipped: t.scrollWidth > t.clientWidth + 1 || t.scrollHeight > t.clientHeight + 4 })))
      assert.ok(boxes.every((b) => !b.clipped && b.left >= 0 && b.right <= width), JSON.stringify(boxes))
      // The first word stands where its script begins.
      assert.equal(boxes[0].left > boxes[1].left, direction === 'rtl')
    }
  }
})

test('a token that looks like HTML is text', { skip: why }, async () => {
  const page = await it.page(`text=${encodeURIComponent('<img src=x onerror="window.broken=1"> </p><script>window.broken=1</script> &amp;')}&row=0`)
  await settled(page)
  for (const view of kViews) {
    const tab = page.locator(`#tab-${view}`)
    if ((await tab.count()) > 0) await tab.click()
    await page.waitForTimeout(60)
  }
  assert.equal(await page.evaluate(() => window.broken), undefined)
  assert.equal(await page.locator('main img, main script').count(), 0)
  assert.ok((await page.locator('[aria-labelledby="side-column"]').textContent()).includes('<'))
})

test('axe finds nothing to complain of', { skip: why }, async () => {
  const axe = await readFile(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
  for (const colorScheme of ['light', 'dark']) {
    const page = await it.page('beam=4&nbest=2&row=1', { colorScheme })
    await settled(page)
    await page.evaluate(axe)
    for (const view of kViews) {
      const tab = page.locator(`#tab-${view}`)
      if ((await tab.count()) === 0) continue
      await tab.click()
      await page.waitForTimeout(150)
      for (const more of await page.locator('#panel details:not([open]) > summary').all()) await more.click()
      const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
      assert.deepEqual(found.violations.map((v) => `${colorScheme} ${view} ${v.id}: ${v.nodes.map((n) => n.html).slice(0, 2).join(' ')}`), [])
    }
  }
})

test('a phone needs no scrolling aside', { skip: why }, async () => {
  for (const view of kViews) {
    const page = await it.page(`view=${view}&beam=4&nbest=2`, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
    await settled(page)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(wide <= 390, `${view} is ${wide} px wide`)
    await page.context().close()
  }
})

test('another word is forced by pressing it', { skip: why }, async () => {
  const page = await it.page('row=1')
  await settled(page)
  const other = page.locator('.inspector .bars li:not(.taken) button').first()
  const word = (await other.locator('bdi').textContent()).trim()
  await other.click()
  await page.waitForSelector('.whatif .answers')
  assert.ok((await page.locator('.whatif').textContent()).includes(word))
  assert.ok((await page.locator('.whatif .word.new').count()) > 0)
  await page.getByRole('button', { name: 'See the difference' }).click()
  await page.waitForSelector('#panel .two')
  await page.getByRole('button', { name: 'Undo all' }).click()
  await page.waitForFunction(() => !document.querySelector('.whatif'))
})

test('a head is switched off', { skip: needsMock }, async () => {
  const page = await it.page('view=heads')
  await settled(page)
  await page.getByRole('button', { name: /^off.*layer 2, head 3/ }).click()
  await page.waitForSelector('.whatif .answers')
  assert.match(await page.locator('.whatif').textContent(), /layer 2, head 3 were off/)
  assert.match(await page.locator('.whatif .written').nth(1).textContent(), /−\d/)
  assert.match(decodeURIComponent(page.url()), /"off":true/)
})

test('a row is set with the keyboard', { skip: why }, async () => {
  const page = await it.page('row=1')
  await settled(page)
  await page.getByRole('button', { name: 'Set where this step looks' }).click()
  const bar = page.getByRole('slider').first()
  await bar.focus()
  await page.keyboard.press('End')
  assert.equal(await bar.getAttribute('aria-valuenow'), '100')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('PageUp')
  assert.equal(await page.getByRole('slider').nth(1).getAttribute('aria-valuenow'), '20')
  assert.equal(await bar.getAttribute('aria-valuenow'), '80')
  await page.getByRole('button', { name: 'Try it' }).click()
  await page.waitForSelector('.whatif .answers')
})

test('a target is forced', { skip: needsMock }, async () => {
  const page = await it.page(`text=${encodeURIComponent(kSentence)}&target=${encodeURIComponent('eine Katze')}`)
  await settled(page)
  assert.equal((await page.locator('output').textContent()).trim(), 'eine Katze')
  assert.deepEqual(await tokens(page, 'row').allTextContents(), ['eine', 'Katze', '</s>'])
})

test('two models are compared', { skip: needsMock }, async () => {
  const page = await it.page('view=compare')
  await settled(page)
  await page.getByLabel('Compare with').selectOption('en-de-small')
  await page.waitForSelector('#panel .two')
  assert.match(await page.locator('#panel').textContent(), /Second less first.*7 of 7 rows/)
})

test('every view is saved as SVG, PNG, JSON and HTML', { skip: why }, async () => {
  const page = await it.page('beam=4&nbest=2')
  await settled(page)
  for (const view of ['heatmap', 'flow', 'steps', 'tree', 'diagnostics']) {
    await page.locator(`#tab-${view}`).click()
    await page.waitForTimeout(150)
    for (const format of ['SVG', 'PNG', 'JSON', 'HTML']) {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: `as ${format}` }).click()])
      const content = await readFile(await download.path())
      assert.equal(download.suggestedFilename(), `fovea-${view}.${format.toLowerCase()}`)
      if (format === 'PNG') assert.equal(content.subarray(1, 4).toString(), 'PNG')
      if (format === 'JSON') assert.equal(JSON.parse(content).record.fovea_record, 1)
      if (format === 'HTML') assert.match(content.toString(), /^<!doctype html>.*Content-Security-Policy.*<svg /s)
      if (format !== 'SVG') continue
      const wrong = await page.evaluate((svg) => new DOMParser().parseFromString(svg, 'image/svg+xml').querySelector('parsererror')?.textContent, content.toString())
      assert.equal(wrong, undefined)
      assert.match(content.toString(), /<text /)
    }
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
  await page.route('**/v1/translate', (route) => route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":{"code":"overloaded","message":"Too many questions."}}' }))
  await page.fill('#source', 'a man')
  await page.waitForSelector('[role=alert]')
  assert.match(await page.locator('[role=alert]').textContent(), /Too many questions\./)
  // The browser itself notes the status in its console.
  it.troubles.splice(0, it.troubles.length, ...it.troubles.filter((t) => !t.includes('503')))
})

test('timings (printed, not asserted)', { skip: needsMock }, async (t) => {
  const spread = (list) => {
    const sorted = [...list].sort((a, b) => a - b)
    return `median ${sorted[sorted.length >> 1].toFixed(1)} ms, most ${sorted.at(-1).toFixed(1)} ms`
  }
  const durations = (page, name) => page.evaluate((n) => performance.getEntriesByName(n).map((e) => e.duration), name)
  const paints = []
  for (let i = 0; i < 5; ++i) {
    const fresh = await it.page()
    await settled(fresh)
    paints.push(await fresh.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN))
    await fresh.context().close()
  }
  t.diagnostic(`first contentful paint: ${spread(paints)}`)

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
  t.diagnostic(`512 × 512 hover: overlay ${spread(await durations(page, 'fovea:light'))}; frames ${spread(await frames)}`)

  page = await it.page('model=large&text=2048')
  await settled(page)
  await page.evaluate(() => performance.clearMeasures())
  for (const scale of ['sqrt', 'log', 'linear', 'sqrt', 'log', 'linear']) {
    await page.getByLabel('Scale').selectOption(scale)
    await page.waitForTimeout(120)
  }
  t.diagnostic(`2,048 × 2,048 repaint: ${spread(await durations(page, 'fovea:paint'))}`)
})
