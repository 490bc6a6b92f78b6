// Parses server-sent events of a fetched stream, because EventSource cannot post. It follows the parsing rules of the
// HTML standard for `event` and `data`.

export interface ServerEvent {
  event: string
  data: string
}

export class EventParser {
  private buffer = ''
  private event = ''
  private data: string[] = []

  // A chunk may end anywhere, even between the two characters of a line end.
  push(text: string): ServerEvent[] {
    this.buffer += text
    const found: ServerEvent[] = []
    for (;;) {
      const end = /\r\n|\n|\r(?!$)/.exec(this.buffer)
      if (!end) return found
      const line = this.buffer.slice(0, end.index)
      this.buffer = this.buffer.slice(end.index + end[0].length)
      const event = this.line(line)
      if (event) found.push(event)
    }
  }

  private line(line: string): ServerEvent | null {
    if (line === '') {
      const whole = { event: this.event || 'message', data: this.data.join('\n') }
      const any = this.data.length > 0
      this.event = ''
      this.data = []
      return any ? whole : null
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') this.event = value
    if (field === 'data') this.data.push(value)
    return null
  }
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const parser = new EventParser()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      yield* parser.push(decoder.decode(value, { stream: true }))
    }
    yield* parser.push(decoder.decode() + '\n\n')
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}
