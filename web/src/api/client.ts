// The requests of the page, each of which can be aborted. Addresses are relative, so that the page works under any path
// and sends no request to another machine.
import type { WireRecord } from '../model/record'
import { readEvents } from './sse'
import type {
  CaptionAnswer,
  ChatAnswer,
  ClassifyAnswer,
  Input,
  ModelInfo,
  Options,
  ReadAnswer,
  ReviseEvent,
  StartEvent,
  TokenEvent,
  TranslateAnswer,
} from './types'

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

// Who answers requests: the server, or the engine of the static page (src/static).
let answerer = (path: string, init: RequestInit): Promise<Response> => fetch(path, init)

export function answerWith(other: typeof answerer): void {
  answerer = other
}

async function send(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {}
  if (key) headers['Authorization'] = `Bearer ${key}`
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const init: RequestInit = { method: body === undefined ? 'GET' : 'POST', headers, signal: signal ?? null }
  if (body !== undefined) init.body = JSON.stringify(body)
  let response: Response
  try {
    response = await answerer(path, init)
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

async function ask<T>(path: string, body: unknown, signal: AbortSignal): Promise<T> {
  return (await (await send(path, body, signal)).json()) as T
}

// Conversations and pictures are answered at paths of their own; replies and captions are read as translations.
const pathOf = (input: Input): string =>
  'turns' in input ? 'v1/chat' : 'image' in input ? 'v1/caption' : 'v1/translate'

function translationOf(answer: TranslateAnswer | ChatAnswer | CaptionAnswer): TranslateAnswer {
  if ('captions' in answer) {
    const { captions, ...rest } = answer
    return { translations: captions.map((c) => ({ ...c, cut: false, source_tokens: 0 })), ...rest }
  }
  if (!('reply' in answer)) return answer
  const { reply, model, milliseconds, ...rest } = answer
  return { translations: [{ text: reply, ...rest }], model, milliseconds }
}

export async function translate(input: Input, options: Options, signal: AbortSignal): Promise<TranslateAnswer> {
  return translationOf(await ask(pathOf(input), { ...input, ...options }, signal))
}

export async function attend(input: Input, target: string, options: Options, signal: AbortSignal): Promise<WireRecord> {
  return (await ask<{ record: WireRecord }>('v1/attention', { ...input, target, ...options }, signal)).record
}

export const classify = (
  text: string | string[],
  model: string,
  attention: false | 'compact',
  signal: AbortSignal,
): Promise<ClassifyAnswer> => ask('v1/classify', { text, model, attention }, signal)

export const read = (
  passage: string,
  question: string,
  options: { model: string; nbest: number; attention: 'compact' },
  signal: AbortSignal,
): Promise<ReadAnswer> => ask('v1/answer', { passage, question, ...options }, signal)

export interface StreamHandlers {
  start(event: StartEvent): void
  token(event: TokenEvent): void
  revise(event: ReviseEvent): void
}

export async function stream(
  input: Input,
  options: Options,
  on: StreamHandlers,
  signal: AbortSignal,
): Promise<TranslateAnswer> {
  const response = await send(pathOf(input), { ...input, ...options, stream: true }, signal)
  // A server that does not stream this request answers it as a whole.
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream'))
    return translationOf((await response.json()) as TranslateAnswer | ChatAnswer)
  for await (const { event, data } of readEvents(response.body!)) {
    const value = JSON.parse(data) as unknown
    if (event === 'start') on.start(value as StartEvent)
    if (event === 'token') on.token(value as TokenEvent)
    if (event === 'revise') on.revise(value as ReviseEvent)
    if (event === 'done') return translationOf(value as TranslateAnswer | ChatAnswer)
    if (event === 'error') {
      const { error } = value as { error: { code: string; message: string } }
      throw new ApiError(error.code, error.message)
    }
  }
  throw new ApiError('unreachable', 'The connection closed before the answer was complete.')
}
