// Pictures and their captions in a real browser: the mock's captioner, or the one that tests/check_page.py trains.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawn, isAccessible, visit, why } from './browser.mjs'
import { fileOf, pngOf } from './picture_files.mjs'

const skip = why
const it = visit()
const wide = (width, more = {}) => ({ viewport: { width, height: 860 }, ...more })
const kSquare = fileOf('square.png', pngOf(64, 48))

const words = (page) => page.locator('.tokens.caption').first().locator('.token')
const changed = (page) => page.locator('.changed .token')
const caption = async (page) => (await words(page).allTextContents()).join(' ')
const answered = async (page) => {
  await page.waitForSelector('.film')
  await page.waitForFunction(() => /\d/.test(document.querySelector('.status')?.textContent ?? ''))
  await drawn(page)
}
async function described(options = wide(1440), hash = 'model=pictures') {
  const page = await it.page(hash, options)
  await page.waitForSelector('.photo.nothing')
  await page.locator('.photo.nothing input').setInputFiles(kSquare)
  await answered(page)
  return page
}
// What the light over the large picture is made of, or nothing.
async function light(page) {
  await drawn(page)
  return page.evaluate(() => {
    const canvas = document.querySelector('.photo.large canvas')
    if (canvas.classList.contains('off')) return ''
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    return data.join()
  })
}
// The place of the most light, in parts of the picture.
async function brightest(page) {
  await drawn(page)
  return page.evaluate(() => {
    const canvas = document.querySelector('.photo.large canvas')
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    let best = 0
    for (let i = 0; i < data.length / 4; ++i) if (data[4 * i + 3] < data[4 * best + 3]) best = i
    return [(best % canvas.width) / canvas.width, Math.floor(best / canvas.width) / canvas.height]
  })
}

for (const width of [1440, 360]) {
  test(`a picture is described and lights up for each word, at ${width}`, { skip }, async () => {
    const page = await described(wide(width, { hasTouch: width < 500 }))
    const count = await words(page).count()
    assert.ok(count >= 2, await caption(page))
    assert.equal(await page.locator('.film li').count(), count)
    assert.equal(await page.locator('.candidates button').count(), 3)
    assert.equal(await light(page), '')
    await words(page).nth(0).hover()
    const first = await light(page)
    assert.notEqual(first, '')
    await words(page).nth(1).hover()
    assert.notEqual(await light(page), first)
    assert.match(await page.locator('.entropies').textContent(), /of the \d+ cells of the picture/)
    assert.match(await page.locator('.status-line').textContent(), /attends most to \W?row \d+, column \d+/)
    await page.mouse.move(2, 2)
    assert.equal(await light(page), '')
    // Each frame has its own light.
    const frames = await page
      .locator('.film canvas')
      .evaluateAll((all) => all.map((c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.join()))
    assert.ok(new Set(frames).size > 1)
    const most = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(most <= width, `${most} of ${width}`)
    const [picture, canvas] = await Promise.all(
      ['img', 'canvas'].map((part) => page.locator(`.photo.large ${part}`).boundingBox()),
    )
    assert.deepEqual(picture, canvas)
    assert.ok(Math.abs(picture.width / picture.height - 4 / 3) < 0.02, JSON.stringify(picture))
    await page.getByLabel('Language').selectOption('zh')
    await words(page).nth(1).hover()
    // The words of another language arrive when they are chosen.
    await page.waitForFunction(() => /第 \d+ 行第 \d+ 列/.test(document.querySelector('.status-line').textContent))
  })
}

test('the keyboard reaches every word and the picture', { skip }, async () => {
  const page = await described()
  await words(page).nth(0).focus()
  const first = await light(page)
  assert.notEqual(first, '')
  await page.keyboard.press('ArrowRight')
  assert.notEqual(await light(page), first)
  await page.keyboard.press('Enter')
  assert.equal(await words(page).nth(1).getAttribute('aria-pressed'), 'true')
  await page.locator('.photo.large').focus()
  await page.keyboard.press('ArrowDown')
  await page.waitForSelector('.changed .token')
  assert.match(decodeURIComponent(page.url()), /"row":1/)
  const before = await brightest(page)
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  const after = await brightest(page)
  assert.ok(after[1] <= before[1], `${after} ${before}`)
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => !document.querySelector('.changed'))
})

test('attention is moved with the pointer, and the caption is decoded again', { skip }, async () => {
  const page = await described()
  const sent = []
  page.on('request', (request) => request.url().endsWith('/v1/caption') && sent.push(request.postDataJSON()))
  await words(page).nth(1).click()
  const box = await page.locator('.photo.large').boundingBox()
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  await page.mouse.down()
  await page.mouse.move(box.x + 0.9 * box.width, box.y + 0.1 * box.height, { steps: 4 })
  await page.mouse.up()
  await page.waitForSelector('.changed .token')
  const [x, y] = await brightest(page)
  assert.ok(x > 0.7 && y < 0.35, `${x} ${y}`)
  const { edits, prefix } = sent.at(-1)
  assert.equal(edits.length, 1)
  assert.equal(edits[0].row, 1)
  assert.ok(Math.abs(edits[0].weights.reduce((s, w) => s + w, 0) - 1) < 0.01)
  // What was said before that word stays.
  assert.deepEqual(prefix, [await words(page).nth(0).textContent()])
  assert.equal(await changed(page).nth(0).textContent(), prefix[0])
  assert.match(await page.locator('.whatif').textContent(), /the attention at step 2 were different/)
  // The words of the new caption light up the picture, too.
  const moved = await light(page)
  await changed(page).nth(0).hover()
  assert.notEqual(await light(page), moved)
  await page.getByRole('button', { name: 'Undo the move' }).click()
  await page.waitForFunction(() => !document.querySelector('.changed'))
})

test('a word is forced, chosen or typed', { skip }, async () => {
  const page = await described()
  await words(page).nth(1).click()
  const other = page.locator('.inspector .bars li:not(.taken) button').first()
  const word = (await other.locator('bdi').textContent()).trim()
  await other.click()
  await page.waitForSelector('.changed .token')
  if (word !== '</s>') assert.equal(await changed(page).nth(1).textContent(), word)
  await page.getByLabel('another token').fill('antidisestablishmentarianism')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => /has no token/.test(document.querySelector('.ask .note')?.textContent ?? ''))
  // What was decoded before is not shown as the answer to what was refused.
  assert.equal(await page.locator('.changed, .whatif .written').count(), 0)
  // The browser tells of the refusal, too.
  const told = it.troubles.findIndex((trouble) => /status of 400/.test(trouble))
  if (told >= 0) it.troubles.splice(told, 1)
  await page.getByLabel('another token').fill(await words(page).nth(0).textContent())
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => {
    const all = document.querySelectorAll('.changed .token')
    return all.length > 1 && all[0].textContent === all[1].textContent
  })
  assert.equal(await page.locator('.ask .note').count(), 0)
})

test('the caption is played, and other captions are shown', { skip }, async () => {
  const page = await described()
  const second = page.locator('.candidates button').nth(1)
  await second.click()
  const text = await second.locator('bdi').textContent()
  await page.waitForFunction((wanted) => document.querySelector('output').textContent === wanted, text)
  await page.locator('.candidates button').first().click()
  // Played and paused by the page's own clock: however slow this machine is, no step goes unseen.
  const playTo = (selector) =>
    page.evaluate(async ([found, of]) => {
      const button = document.querySelector('.player .play')
      button.click()
      const isThere = () => document.querySelector('.where').textContent.startsWith(of) && document.querySelector(found)
      while (!isThere()) await new Promise((r) => setTimeout(r))
      button.click()
    }, selector)
  // Words that are not yet written are dimmed.
  await playTo(['.tokens.caption .later', '1 of'])
  const before = await light(page)
  await playTo(['.tokens.caption', '2 of'])
  assert.notEqual(await light(page), before)
  // It ends by itself.
  await page.evaluate(async () => {
    const button = document.querySelector('.player .play')
    button.click()
    for (const name of ['Pause', 'Play']) while (button.textContent !== name) await new Promise((r) => setTimeout(r))
  })
  assert.equal(await page.locator('.tokens.caption .later').count(), 0)
})

test('pictures are dropped and pasted, and large ones are made small', { skip }, async () => {
  const page = await it.page('', wide(1440))
  await page.waitForSelector('.ask')
  const give = (event, width, height) =>
    page.evaluate(
      async ([name, w, h]) => {
        const canvas = document.createElement('canvas')
        canvas.width = w
        canvas.height = h
        const context = canvas.getContext('2d')
        context.fillStyle = '#2266aa'
        context.fillRect(0, 0, w, h / 2)
        const blob = await new Promise((done) => canvas.toBlob(done, 'image/png'))
        const data = new DataTransfer()
        data.items.add(new File([blob], `${name}.png`, { type: 'image/png' }))
        const init = { bubbles: true, cancelable: true }
        document.body.dispatchEvent(
          name === 'drop'
            ? new DragEvent('drop', { ...init, dataTransfer: data })
            : new ClipboardEvent('paste', { ...init, clipboardData: data }),
        )
      },
      [event, width, height],
    )
  // Dropped while another model is selected: the captioner is.
  const [dropped] = await Promise.all([page.waitForRequest('**/v1/caption'), give('drop', 3000, 1500)])
  await answered(page)
  assert.match(dropped.postDataJSON().image, /^data:image\/jpeg;base64,/)
  const size = await page.evaluate(
    (url) =>
      new Promise((done) => {
        const image = new Image()
        image.onload = () => done([image.naturalWidth, image.naturalHeight])
        image.src = url
      }),
    dropped.postDataJSON().image,
  )
  assert.deepEqual(size, [1024, 512])
  const [pasted] = await Promise.all([page.waitForRequest('**/v1/caption'), give('paste', 90, 60)])
  assert.match(pasted.postDataJSON().image, /^data:image\/png;base64,/)
  await answered(page)
})

test('what is no picture is refused with a word', { skip }, async () => {
  const page = await it.page('model=pictures', wide(1440))
  await page.waitForSelector('.photo.nothing')
  await page.locator('.photo.nothing input').setInputFiles(fileOf('a.png', Buffer.from('not a picture')))
  await page.waitForSelector('.failure')
  assert.match(await page.locator('.failure').textContent(), /a\.png is not a picture/)
  await page.locator('.photo.nothing input').setInputFiles(kSquare)
  await answered(page)
  assert.equal(await page.locator('.failure').count(), 0)
})

test('nothing is out of reach for assistive technology, light or dark', { skip }, async () => {
  const page = await described()
  await words(page).nth(1).click()
  await isAccessible(page)
})
