// Answers the page's requests by the engine in a worker: nothing leaves the machine.
import { effect, signal } from '@preact/signals'
import { answerWith } from '../api/client'
import { t } from '../i18n'
import type { FromWorker, ToWorker } from './messages'
import './engine.css'

// A module with a SIMD instruction in a block that catches exceptions.
const kNeeded = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 13, 1, 11, 0, 6, 64, 65, 0, 253, 15, 26, 25, 11, 11,
])
const canRun = (): boolean => typeof WebAssembly === 'object' && WebAssembly.validate(kNeeded)

interface Pending {
  head(status: number, type: string): void
  part(bytes: Uint8Array): void
  end(): void
}

const pending = new Map<number, Pending>()
const progress = signal<{ done: number; all: number } | null>({ done: 0, all: 0 })
let failed = ''
let questions = 0

function errorAnswer(message: string): Response {
  return Response.json({ error: { code: 'unsupported', message } }, { status: 501 })
}

function fail(message: string): void {
  failed = message
  progress.value = null
  for (const one of pending.values()) {
    one.head(501, 'application/json')
    one.part(new TextEncoder().encode(JSON.stringify({ error: { code: 'unsupported', message } })))
    one.end()
  }
  pending.clear()
}

function hear(message: FromWorker): void {
  if ('done' in message) progress.value = message
  else if ('ready' in message) progress.value = null
  else if ('failed' in message) fail(message.failed)
  else if ('status' in message) pending.get(message.id)?.head(message.status, message.type)
  else if ('part' in message) pending.get(message.id)?.part(message.part)
  else {
    const ended = pending.get(message.id)
    pending.delete(message.id)
    ended?.end()
  }
}

function startWorker(): (message: ToWorker) => void {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => hear(data)
  worker.onerror = (event) => fail(event.message || 'The engine did not start.')
  worker.postMessage({ base: document.baseURI } satisfies ToWorker)
  return (message) => worker.postMessage(message)
}

if (!canRun()) fail(t('engine.old'))
const tell = failed ? () => undefined : startWorker()

answerWith((path, init) => {
  if (failed) return Promise.resolve(errorAnswer(failed))
  const id = ++questions
  return new Promise((resolve, reject) => {
    let body!: ReadableStreamDefaultController<Uint8Array>
    // The page stops reading a stream at its last event.
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => void (body = controller),
      cancel: () => void pending.delete(id),
    })
    pending.set(id, {
      head: (status, type) => resolve(new Response(stream, { status, headers: { 'Content-Type': type } })),
      part: (bytes) => body.enqueue(bytes),
      end: () => body.close(),
    })
    init.signal?.addEventListener('abort', () => {
      if (!pending.delete(id)) return
      tell({ cancel: id })
      const error = new DOMException('The question was withdrawn.', 'AbortError')
      body.error(error)
      reject(error)
    })
    tell({ id, method: init.method ?? 'GET', path: `/${path}`, body: typeof init.body === 'string' ? init.body : '' })
  })
})

// How much has arrived, until the engine is there.
effect(() => {
  const now = progress.value
  const old = document.getElementById('engine')
  if (!now) return old?.remove()
  const line = old ?? document.body.appendChild(document.createElement('div'))
  line.id = 'engine'
  line.role = 'status'
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)
  const isComing = now.done < now.all || now.all === 0
  line.textContent = isComing
    ? t('engine.loading', { done: megabytes(now.done), all: now.all ? megabytes(now.all) : '…' })
    : t('engine.starting')
  line.style.setProperty('--part', `${now.all ? (100 * now.done) / now.all : 0}%`)
})
