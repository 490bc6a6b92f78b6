// The HTML files that `fovea view --format html` writes, with their script, in a browser. The record and its numbers are
// those of tests/view/cases/reductions.json.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { visit, why } from './browser.mjs'

const program = process.env.FOVEA_PROGRAM
const skip = why || (program ? false : 'needs FOVEA_PROGRAM, the path of fovea')
const folder = mkdtempSync(join(tmpdir(), 'fovea-html-'))
const it = visit()
after(() => rmSync(folder, { recursive: true }))

async function open(view, ...options) {
  const cases = JSON.parse(readFileSync(new URL('../../../tests/view/cases/reductions.json', import.meta.url), 'utf8'))
  const record = join(folder, 'record.jsonl')
  const file = join(folder, `${view}.html`)
  writeFileSync(record, JSON.stringify(cases.records.jackets) + '\n')
  execFileSync(program, [
    'view',
    record,
    '--as',
    view,
    '--heads',
    'mean',
    '--format',
    'html',
    '--output',
    file,
    ...options,
  ])
  const page = await it.emptyPage({ viewport: { width: 1000, height: 800 } })
  await page.goto(pathToFileURL(file).href)
  return page
}

// Without the invisible characters that isolate directions.
const status = async (page) => (await page.locator('[role=status]').textContent()).replace(/[\u2068\u2069]/g, '')

test('a heat map describes the cell under the pointer and the arrow keys', { skip }, async () => {
  const page = await open('heatmap')
  assert.equal(await status(page), '')
  await page.locator('.picture svg').focus()
  assert.equal(await status(page), 'rote → red: 0.68')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowRight')
  assert.equal(await status(page), 'Jack → jack: 0.47')
  assert.equal(await page.locator('.band.cell').getAttribute('visibility'), 'visible')
  for (let i = 0; i < 5; ++i) await page.keyboard.press('ArrowUp')
  assert.equal(await status(page), 'rote → jack: 0.23')
  await page.evaluate(() => document.activeElement.blur())
  assert.equal(await page.locator('.band.cell').getAttribute('visibility'), 'hidden')
  const [box, cells] = await Promise.all([
    page.locator('.picture svg').boundingBox(),
    page.locator('.cells').evaluate((element) => ({ ...element.dataset })),
  ])
  const at = (row, column) => [
    box.x + +cells.x + (column + 0.5) * +cells.width,
    box.y + +cells.y + (row + 0.5) * +cells.height,
  ]
  await page.mouse.move(...at(3, 0))
  assert.equal(await status(page), '</s> → red: 0.68')
  await page.mouse.move(...at(3, 7))
  assert.equal(await page.locator('.band.cell').getAttribute('visibility'), 'hidden')
})

// The shares are those of the colour scale: 0.225 / 0.675 is 1/3, its root 0.577, and 1 + log10(1/3) / 3 is 0.841.
for (const [scale, jack] of Object.entries({ linear: '33.3%', sqrt: '57.7%', log: '84.1%' })) {
  test(`highlighting shades the other sentence, on a ${scale} scale`, { skip }, async () => {
    const page = await open('highlight', '--scale', scale)
    const word = (side, index) => page.locator(`.pair button[data-side=${side}][data-index="${index}"]`)
    const share = (side, index) => word(side, index).evaluate((e) => e.style.getPropertyValue('--share'))
    await word('row', 0).hover()
    assert.equal(await status(page), 'rote looks at red 0.68, jack 0.23, ets 0.10')
    assert.deepEqual([await share('column', 0), await share('column', 1), await share('row', 1)], ['100.0%', jack, ''])
    await word('row', 0).click()
    assert.equal(await word('row', 0).getAttribute('aria-pressed'), 'true')
    await word('column', 1).hover()
    assert.equal(await status(page), 'jack is looked at by Jack 0.47, rote 0.23, en 0.23, </s> 0.16')
    await page.mouse.move(5, 5)
    assert.equal(await share('column', 1), jack) // the pressed word again
    await word('row', 0).press('Escape')
    assert.equal(await share('column', 1), '')
  })
}

test('a flow shows only the links of the picked word', { skip }, async () => {
  const page = await open('flow')
  const picked = () => page.locator('.link.picked').evaluateAll((all) => all.map((link) => link.dataset.row))
  await page.locator('.word[data-side=row][data-index="1"]').focus()
  assert.deepEqual([...new Set(await picked())], ['1'])
  assert.equal(await status(page), 'Jack looks at jack 0.47, red 0.30, ets 0.23')
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('.word[aria-pressed=true]').count(), 1)
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('.picking').count(), 0)
})

test('steps are played, stepped through and shown together', { skip }, async () => {
  const page = await open('steps')
  const visible = () =>
    page.locator('.frame').evaluateAll((all) =>
      all
        .map((frame) => frame.getAttribute('visibility') === 'visible')
        .map(Number)
        .join(''),
    )
  assert.equal(await visible(), '1000')
  assert.equal(await status(page), 'rote, probability 80.0%; looks most at red (0.68)')
  await page.locator('#next').click()
  assert.equal(await visible(), '0100')
  await page.keyboard.press('ArrowRight')
  assert.equal(await page.locator('#where').textContent(), '3 / 4')
  await page.keyboard.press('ArrowLeft')
  await page.locator('#back').click()
  await page.locator('#back').click()
  assert.equal(await page.locator('#where').textContent(), '1 / 4')
  await page.locator('#step').fill('4')
  assert.equal(await visible(), '0001')
  await page.locator('#whole').click()
  assert.equal(await visible(), '1111')
  await page.locator('#whole').click()
  await page.locator('#play').click() // from the last step playback starts over and ends by itself
  assert.equal(await page.locator('#play').textContent(), 'Pause')
  await page.waitForFunction(() => document.querySelector('#play').textContent === 'Play')
  assert.equal(await visible(), '0001')
})

test('heads are shown without a script error', { skip }, async () => {
  const page = await open('heads')
  assert.match(await page.locator('h1').textContent(), /cross attention/)
})
