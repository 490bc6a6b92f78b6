// The worker that runs the engine: it fetches engine and models from the page's own host, then answers one question
// after another. Questions that were withdrawn while the engine was busy are not answered.
import type { FromWorker, Question, ToWorker } from './messages'

// The parts of Emscripten's module that are used.
interface Engine {
  FS: {
    mkdirTree(path: string): void
    writeFile(path: string, bytes: Uint8Array, options: { canOwn: boolean }): void
    unlink(path: string): void
  }
  ccall(name: string, result: 'string' | null, types: 'string'[], values: string[]): string
}
interface Start {
  wasmBinary: ArrayBufferLike
  onHead(status: number, type: string): void
  onBody(bytes: Uint8Array<ArrayBuffer>): void
}
// models/models.json, written by tools/web_demo.py.
interface Contents {
  engine: number // bytes
  models: { name: string; files: { name: string; bytes: number }[] }[]
}

const say = (message: FromWorker): void => self.postMessage(message)
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error))

let arrived = 0
let all = 0

async function fetched(url: string): Promise<Response> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`)
  return response
}

async function bytesOf(url: string, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size)
  const reader = (await fetched(url)).body!.getReader()
  let at = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (at + value.length > size) throw new Error(`${url}: expected ${size} bytes, got more`)
    bytes.set(value, at)
    at += value.length
    arrived += value.length
    say({ done: arrived, all })
  }
  if (at !== size) throw new Error(`${url}: expected ${size} bytes, got ${at}`)
  return bytes
}

let answering = 0

async function start(base: string): Promise<Engine> {
  const at = (path: string): string => new URL(path, base).href
  const contents = (await (await fetched(at('models/models.json'))).json()) as Contents
  all = contents.engine + contents.models.flatMap((m) => m.files).reduce((sum, file) => sum + file.bytes, 0)
  const wasm = bytesOf(at('engine/fovea.wasm'), contents.engine)
  const module = import(/* @vite-ignore */ at('engine/fovea.js')) as Promise<{
    default: (start: Start) => Promise<Engine>
  }>
  const files = contents.models.flatMap(({ name: model, files: ofModel }) =>
    ofModel.map(async ({ name, bytes }) => ({
      path: `/${model}/${name}`,
      bytes: await bytesOf(at(`models/${model}/${name}`), bytes),
    })),
  )
  const engine = await (
    await module
  ).default({
    wasmBinary: (await wasm).buffer,
    onHead: (status, type) => say({ id: answering, status, type }),
    onBody: (part) => say({ id: answering, part }),
  })
  for (const { name } of contents.models) engine.FS.mkdirTree(`/${name}`)
  const written = await Promise.all(files)
  for (const { path, bytes } of written) engine.FS.writeFile(path, bytes, { canOwn: true })
  for (const { name } of contents.models) {
    const error = engine.ccall('fovea_load', 'string', ['string'], [`/${name}`])
    if (error) throw new Error(error)
  }
  for (const { path } of written) engine.FS.unlink(path) // the engine has read them
  return engine
}

let engine: Promise<Engine> | null = null
let waiting: Question[] = []

function answer(engine: Engine): void {
  const question = waiting.shift()
  if (!question) return
  answering = question.id
  engine.ccall('fovea_call', null, ['string', 'string', 'string'], [question.method, question.path, question.body])
  say({ id: question.id, end: true })
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if ('base' in data) {
    engine = start(data.base)
    engine.then(
      () => say({ ready: true }),
      (error: unknown) => say({ failed: reason(error) }),
    )
  } else if ('cancel' in data) {
    waiting = waiting.filter((question) => question.id !== data.cancel)
  } else {
    waiting.push(data)
    // Not at once: what the page has said meanwhile may withdraw the question.
    void engine?.then((ready) =>
      setTimeout(() => {
        try {
          answer(ready)
        } catch (error) {
          say({ failed: reason(error) })
        }
      }),
    )
  }
}
