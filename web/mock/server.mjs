// A server that answers as `fovea serve` does, without a model: for development and for the tests of the page. Serves
// the built page, too, with the same headers.
//   node mock/server.mjs [PORT]
import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { compact, crossMean } from './compact.mjs'
import { attend, hash, kModels as kTranslators, largeRecord, stepsOf, tokenise, write } from './models.mjs'
import { captionOf, isKnown, kPictureModels } from './pictures.mjs'
import { classifyText, contextOf, findAnswers, kTaskModels } from './tasks.mjs'

const kModels = [...kTranslators, ...kTaskModels, ...kPictureModels]
const kPaths = { classify: '/v1/classify', answer: '/v1/answer', dialogue: '/v1/chat', caption: '/v1/caption' }

const kDist = fileURLToPath(new URL('../dist/', import.meta.url))
const kPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const kTypes = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

class Refusal extends Error {
  constructor(status, code, message) {
    super(message)
    Object.assign(this, { status, code })
  }
}

const writes = (model) => !['classify', 'answer', 'caption'].includes(model.info.task)
const serves = (model, path) =>
  (kPaths[model.info.task] ?? '/v1/translate') === path ||
  (writes(model) && ['/v1/translate', '/v1/attention'].includes(path))

function modelOf(name, path) {
  const model = kModels.find((m) => (name ? m.info.name === name : serves(m, path)))
  if (!model) throw new Refusal(404, 'not_found', `There is no model named ${name}.`)
  if (!serves(model, path))
    throw new Refusal(400, 'bad_request', `model: ${name} is a model of the task ${model.info.task}.`)
  return model
}

function recordOf(model, text, body, rank = 1) {
  const about = {
    fovea_record: 1,
    task: model.info.task,
    line: 1,
    rank,
    architecture: model.info.architecture,
    search: body.sample ? 'sampled' : body.beam > 1 ? `beam ${body.beam}` : 'greedy',
  }
  const end = { ended: true, cut: false }
  if (model.info.name === 'large') {
    const large = largeRecord(Math.min(4096, Number.parseInt(text, 10) || 64))
    return { ...about, ...large, steps: [], score: 0, log_probability: 0, ...end }
  }
  const source = tokenise(text)
  const target = write(model, source, body)
  if (rank > 1 && target.tokens.length > rank) {
    // A candidate that is not the best says one word less.
    const worse = recordOf(model, text, {
      ...body,
      target:
        target.text
          .split(' ')
          .filter((_, i, all) => i !== all.length - rank)
          .join(' ') || target.text,
    })
    return { ...worse, rank, score: worse.score - rank, log_probability: worse.log_probability - rank }
  }
  const steps = stepsOf(target, body.edits)
  const sum = steps.reduce((s, x) => s + x.log_probability, 0)
  const record = {
    ...about,
    source,
    target,
    steps,
    score: sum / steps.length,
    log_probability: sum,
    ...end,
    attentions: attend(model, source, target, body.edits),
  }
  for (const step of steps) step.alternatives = step.alternatives.slice(0, body.alternatives ?? 5)
  return record
}

function treeOf(record, beam) {
  const nodes = [{ id: 0, parent: null, text: '<s>', log_probability: 0, total: 0, step: 0, kept: true, ended: false }]
  let parent = 0
  let total = 0
  record.target.tokens.forEach((token, t) => {
    const step = record.steps[t]
    let next = 0
    for (const a of step.alternatives.slice(0, beam)) {
      const kept = a.text === token.text
      const id = nodes.length
      nodes.push({
        id,
        parent,
        text: a.text,
        log_probability: a.log_probability,
        total: total + a.log_probability,
        step: t + 1,
        kept,
        ended: a.text === '</s>',
      })
      if (kept) next = id
      else if (hash(a.text + t) > 0.5)
        nodes.push({
          id: nodes.length,
          parent: id,
          text: token.text,
          log_probability: -1,
          total: total + a.log_probability - 1,
          step: t + 2,
          kept: false,
          ended: false,
        })
    }
    total += step.log_probability
    parent = next || parent
  })
  return { nodes }
}

// `make` gives the record of a rank.
function candidatesOf(body, make) {
  const count = Math.min(body.nbest ?? 1, body.sample ? 64 : (body.beam ?? 1))
  const candidates = Array.from({ length: count }, (_, i) => {
    const record = make(i + 1)
    const { score, log_probability, ended } = record
    return { text: record.target.text, score, log_probability, ended, record }
  })
  const best = candidates[0]
  const tree = body.tree && body.beam > 1 ? treeOf(best.record, body.beam) : undefined
  for (const c of candidates) {
    if (!body.attention) delete c.record
    if (body.attention === 'compact') c.record = compact(c.record)
  }
  return { text: best.text, candidates, ...(tree && { tree }) }
}

const translateOne = (model, text, body) => ({
  ...candidatesOf(body, (rank) => recordOf(model, text, body, rank)),
  cut: false,
  warnings: [],
  source_tokens: tokenise(text).tokens.length,
})

// Without attention a text of several sentences is translated in parts.
function translateParts(model, body) {
  const sentences = [...body.text.matchAll(/[^.!?。]+[.!?。]*/g)].filter((m) => m[0].trim() !== '')
  if (body.attention || sentences.length < 2 || model.info.task !== 'sequence')
    return translateOne(model, body.text, body)
  const parts = sentences.map(({ 0: found, index }) => {
    const begin = index + found.length - found.trimStart().length
    const [from, to] = [begin, begin + found.trim().length].map((unit) => [...body.text.slice(0, unit)].length)
    return { begin: from, end: to, ...translateOne(model, found.trim(), body) }
  })
  const text = parts.map((part) => part.text).join(' ')
  return { text, candidates: [], cut: false, warnings: [], source_tokens: 0, parts }
}

function describe(model, body) {
  if (typeof body.image !== 'string' || !/^data:image\/(jpeg|png|webp);base64,/.test(body.image))
    throw new Refusal(400, 'bad_request', 'image: expected a picture in base64.')
  if (body.next && !isKnown(body.next))
    throw new Refusal(400, 'bad_request', `next: the model has no token "${body.next}".`)
  return candidatesOf(body, (rank) => captionOf(model, body, rank))
}

const took = (model) => ({ model: model.info.name, milliseconds: 4.2 })
const chatOf = ({ text, ...rest }) => ({ reply: text, ...rest })

const pause = (ms) => new Promise((done) => setTimeout(done, ms))

async function streamOne(model, body, response) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
  const send = (event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  const translation = translateOne(model, body.text, body)
  const record = recordOf(model, body.text, body)
  send('start', { source: record.source, model: model.info.name })
  for (const [t, step] of record.steps.entries()) {
    await pause(4)
    if (response.destroyed) return
    const { text, begin, end } = record.target.tokens[t]
    send('token', {
      step: t,
      text,
      begin,
      end,
      log_probability: step.log_probability,
      ...(body.attention && { cross_mean: crossMean(record, t) }),
    })
  }
  send('done', { ...(body.turns ? chatOf(translation) : { translations: [translation] }), ...took(model) })
  response.end()
}

async function bodyOf(request) {
  let text = ''
  for await (const part of request) text += part
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, 'bad_request', 'The body is not JSON.')
  }
}

async function respond(request, response) {
  const path = new URL(request.url, 'http://x').pathname
  const json = (value) => {
    const zipped = gzipSync(JSON.stringify(value), { level: 1 })
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }).end(zipped)
  }
  if (path === '/v1/models') return json({ models: kModels.map((m) => m.info) })
  if (request.method !== 'POST') throw new Refusal(405, 'method_not_allowed', 'Expected POST.')
  const body = await bodyOf(request)
  const kept = (result) => {
    if (!body.attention) delete result.record
    if (body.attention === 'compact') result.record = compact(result.record)
    return result
  }
  if (path === '/v1/classify') {
    const model = modelOf(body.model, path)
    const texts = [body.text].flat()
    return json({ classifications: texts.map((text) => kept(classifyText(model, text))), ...took(model) })
  }
  if (path === '/v1/answer') {
    const model = modelOf(body.model, path)
    const questions = [body.question].flat()
    const answers = questions.map((question) => kept(findAnswers(model, body.passage, question, body.nbest ?? 1)))
    return json({ answers, ...took(model) })
  }
  if (path === '/v1/caption') {
    const model = modelOf(body.model, path)
    return json({ captions: [describe(model, body)], ...took(model) })
  }
  if (body.turns) body.text = contextOf(body.turns)
  if (typeof body.text !== 'string' || body.text.trim() === '')
    throw new Refusal(400, 'bad_request', 'text: expected a sentence.')
  if (body.sample && body.beam > 1) throw new Refusal(400, 'bad_request', 'sample: expected a beam of 1.')
  if (!body.sample && (body.temperature || body.top_k || body.top_p))
    throw new Refusal(400, 'bad_request', 'temperature, top_k and top_p are for sampling.')
  const model = modelOf(body.model, path)
  if (path === '/v1/attention') {
    const record = recordOf(model, body.text, body)
    return json({ record: body.attention === 'compact' ? compact(record) : record })
  }
  if (path !== '/v1/translate' && path !== '/v1/chat') throw new Refusal(404, 'not_found', `There is no ${path}.`)
  if (body.stream) return streamOne(model, body, response)
  const translation = path === '/v1/chat' ? translateOne(model, body.text, body) : translateParts(model, body)
  return json({ ...(path === '/v1/chat' ? chatOf(translation) : { translations: [translation] }), ...took(model) })
}

export function answer(request, response) {
  respond(request, response).catch((error) => {
    const status = error.status ?? 500
    if (!response.headersSent) response.writeHead(status, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ error: { code: error.code ?? 'internal', message: error.message } }))
  })
}

async function page(request, response) {
  const path = normalize(new URL(request.url, 'http://x').pathname)
  const name = path === '/' ? 'index.html' : path.startsWith('/assets/') ? path.slice(1) : null
  try {
    const content = gzipSync(await readFile(join(kDist, name)))
    response.writeHead(200, {
      'Content-Type': kTypes[extname(name)] ?? 'application/octet-stream',
      'Content-Encoding': 'gzip',
      'Content-Security-Policy': kPolicy,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': name === 'index.html' ? 'no-cache' : 'public, max-age=31536000, immutable',
    })
    response.end(content)
  } catch {
    response.writeHead(404).end()
  }
}

export function serve(port = 0) {
  const server = createServer((request, response) =>
    request.url.startsWith('/v1/') ? answer(request, response) : page(request, response),
  )
  return new Promise((done) => server.listen(port, '127.0.0.1', () => done(server)))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await serve(Number(process.argv[2] ?? 8092))
  console.log(`http://127.0.0.1:${server.address().port}/`)
}
