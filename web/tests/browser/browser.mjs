// A real Chromium and a server for the browser tests: the mock with the built page, or the server FOVEA_URL names. All files
// of tests share them; all.mjs runs the files in one process.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { after, afterEach, before } from 'node:test'
import { chromium } from 'playwright-core'
import { serve } from '../../mock/server.mjs'

const kPlaces = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].filter(Boolean)
export const executablePath = kPlaces.find(existsSync)
export const isMock = !process.env.FOVEA_URL
export const why = executablePath ? false : 'there is no Chromium here (set CHROMIUM)'

// Of the mock, or of the models that tests/check_page.py trains: one with several heads, and another to compare it with.
export const kHeads = isMock ? 'en-de' : 'dates-transformer'
export const kOther = isMock ? 'en-de-small' : 'dates'

export async function open() {
  const server = isMock ? await serve() : null
  const url = new URL('/', process.env.FOVEA_URL ?? `http://127.0.0.1:${server.address().port}/`).href
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const troubles = [] // what the page complained of, and requests that left the machine
  const asked = []

  // Pages with the same options share a context, and with it the compiled script.
  const contexts = new Map()
  const contextOf = async (options) => {
    const key = JSON.stringify(options)
    if (!contexts.has(key)) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-US', ...options })
      context.setDefaultTimeout(120_000) // a machine that is busy is slow
      contexts.set(key, context)
    }
    return contexts.get(key)
  }
  const emptyPage = async (options = {}) => {
    const it = await (await contextOf(options)).newPage()
    it.on('pageerror', (error) => troubles.push(`error: ${error.message}`))
    it.on('console', (message) => message.type() === 'error' && troubles.push(`console: ${message.text()}`))
    it.on('request', (request) => {
      const to = new URL(request.url())
      asked.push(to.href)
      if (!['data:', 'blob:', 'file:'].includes(to.protocol) && to.origin !== new URL(url).origin)
        troubles.push(`request: ${to.href}`)
    })
    return it
  }
  const page = async (wanted = '', options = {}) => {
    const it = await emptyPage(options)
    const hash = addressOf(wanted)
    await it.goto(`${url}${hash ? `#${hash}` : ''}`)
    return it
  }
  // What a page remembers belongs to one test.
  const forget = async () => {
    const pages = [...contexts.values()].flatMap((context) => context.pages())
    await Promise.all(
      pages.map((it) =>
        it
          .evaluate(() => localStorage.clear())
          .catch(() => undefined) // a page that was not loaded
          .then(() => it.close()),
      ),
    )
  }
  const close = async () => {
    await browser.close()
    server?.close()
  }
  return { emptyPage, page, forget, close, troubles, asked, url }
}

// The same for files of tests: one browser for all of them.
let it = null
export function visit() {
  if (it) return it
  it = {}
  if (why) return it
  before(async () => void Object.assign(it, await open()))
  afterEach(async () => {
    await it.forget()
    // Every page was watched: nothing left the machine, the policy was never broken.
    assert.deepEqual(it.troubles.splice(0), [])
  })
  after(() => it.close())
  return it
}

// axe finds nothing to complain of: all of its rules in light mode, those about colours in dark mode, too. `within` limits
// it to a part of the page whose other parts were held against axe before.
const kAxe = new URL('../../node_modules/axe-core/axe.min.js', import.meta.url)
export async function isAccessible(page, where = '', within = null) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(readFileSync(kAxe, 'utf8'))
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    await drawn(page)
    const found = await page.evaluate(
      async ([part, isDark]) => {
        await Promise.allSettled(document.getAnimations().map((animation) => animation.finished))
        const { violations } = await window.axe.run(part ?? document, {
          resultTypes: ['violations'],
          preload: false,
          ...(isDark && { runOnly: ['color-contrast', 'link-in-text-block'] }),
        })
        return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html)}`)
      },
      [within, colorScheme === 'dark'],
    )
    assert.deepEqual(found, [], `${where} ${colorScheme}`)
  }
}

// A model of a real server may bring no examples.
const kText = process.env.FOVEA_TEXT ?? 'a dog runs through the snow .'
function addressOf(hash) {
  if (isMock || hash.includes('text=')) return hash
  return [hash, `text=${encodeURIComponent(kText)}`].filter(Boolean).join('&')
}

// Until the page has rendered and its effects have run. Preact runs effects in a timer that it sets in the next animation
// frame; frames and timers are served in order, so this one, asked for later, ends later, however busy the machine is.
// Twice, because an effect may render again.
export const drawn = (page) =>
  page.evaluate(async () => {
    for (let i = 0; i < 2; ++i) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
  })

// Until the answer is complete and drawn.
export async function settled(page) {
  await page.waitForSelector('.views')
  await page.waitForFunction(
    () => !document.querySelector('output.live') && /\d/.test(document.querySelector('.status')?.textContent ?? ''),
  )
  await drawn(page)
}

// The words of a sentence. Those of the source lie below its field: `hover({ force: true })` points at them through it.
export const tokens = (page, side) =>
  page.locator(`${side === 'column' ? '.backdrop .token, ' : ''}[aria-labelledby="side-${side}"] .token`)
export const menu = (page, name) => page.getByRole('combobox', { name, exact: true })
export const number = (page, name) => page.getByRole('spinbutton', { name, exact: true })
// What was written, without the token that ends it.
export const written = async (page) => (await page.locator('output').textContent()).replace('</s>', '').trim()
export async function openDecoding(page) {
  const closed = page.locator('.decoding:not([open]) > summary')
  if ((await closed.count()) > 0) await closed.click()
}
export async function shaded(page, side) {
  await drawn(page)
  return tokens(page, side).evaluateAll((all) =>
    all.filter((t) => t.style.backgroundColor !== '').map((t) => t.textContent),
  )
}
