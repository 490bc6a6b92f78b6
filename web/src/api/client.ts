// The requests of the page, each of which can be aborted. Addresses are relative, so that the page works under any path
// and sends no request to another machine.
import type { WireRecord } from '../model/record'
import { readEvents } from './sse'
import type { ModelInfo, Options, ReviseEvent, StartEvent, TokenEvent, TranslateAnswer } from './types'

export class ApiError extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const kKey = 'fovea-key'
let key = ''
try {
  key = sessionStorage.getItem(kKey) ?? ''
} catch {
  // Without storage the key lasts as long as the page.
}

export function setKey(to: string): void {
  key = to
  try {
    sessionStorage.setItem(kKey, to)
  } catch {
    // As above.
  }
}

async function send(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {}
  if (key) headers['Authorization'] = `Bearer ${key}`
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const init: RequestInit = { method: body === undefined ? 'GET' : 'POST', headers, signal: signal ?? null }
  if (body !== undefined) init.body = JSON.stringify(body)
  let response: Response
  try {
    response = await fetch(path, init)
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError('unreachable', 'The server is not responding.')
  }
  if (!response.ok) throw await errorOf(response)
  return response
}

async function errorOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as { error: { code?: string; message?: string } }
    return new ApiError(error.code ?? String(response.status), error.message ?? response.statusText)
  } catch {
    return new ApiError(String(response.status), `${response.status} ${response.statusText}`)
  }
}

export async function getModels(): Promise<ModelInfo[]> {
  const answer = (await (await send('v1/models', undefined)).json()) as { models: ModelInfo[] }
  return answer.models
}

export async function translate(text: string, options: Options, signal: AbortSignal): Promise<TranslateAnswer> {
  return (await (await send('v1/translate', { text, ...options }, signal)).json()) as TranslateAnswer
}

export async function attend(text: string, target: string, options: Options, signal: AbortSignal): Promise<WireRecord> {
  const answer = (await (await send('v1/attention', { text, target, ...options }, signal)).json()) as {
    record: WireRecord
  }
  return answer.record
}

export interface StreamHandlers {
  start(event: StartEvent): void
  token(event: TokenEvent): void
  revise(event: ReviseEvent): void
}

export async function stream(
  text: string,
  options: Options,
  on: StreamHandlers,
  signal: AbortSignal,
): Promise<TranslateAnswer> {
  const response = await send('v1/translate', { text, ...options, stream: true }, signal)
  // A server that does not stream this request answers it as a whole.
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream'))
    return (await response.json()) as TranslateAnswer
  for await (const { event, data } of readEvents(response.body!)) {
    const value = JSON.parse(data) as unknown
    if (event === 'start') on.start(value as StartEvent)
    if (event === 'token') on.token(value as TokenEvent)
    if (event === 'revise') on.revise(value as ReviseEvent)
    if (event === 'done') return value as TranslateAnswer
    if (event === 'error') {
      const { error } = value as { error: { code: string; message: string } }
      throw new ApiError(error.code, error.message)
    }
  }
  throw new ApiError('unreachable', 'The connection closed before the answer was complete.')
}
