// Decompression that stops at a limit: a file of a few hundred kilobytes may claim to be gigabytes.

export class TooLarge extends Error {}

// The decompressed chunks of a stream, one after the other; TooLarge once there are more than `most` bytes.
async function* chunks(from: ReadableStream<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  const reader = from.getReader()
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      bytes += value.length
      if (bytes > most) throw new TooLarge(`more than ${Math.round(most / 1e6)} MB`)
      yield value
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}

const decompressed = (from: Blob, format: CompressionFormat): ReadableStream<Uint8Array> =>
  from.stream().pipeThrough(new DecompressionStream(format))

// zlib's format.
export async function inflate(bytes: Uint8Array<ArrayBuffer>, most: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of chunks(decompressed(new Blob([bytes]), 'deflate'), most)) {
    parts.push(part)
    size += part.length
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

// The text of a file, plain or gzipped.
export async function textOf(file: Blob, most: number): Promise<string> {
  const [a, b] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  const isGzip = a === 0x1f && b === 0x8b
  const decoder = new TextDecoder()
  let text = ''
  for await (const part of chunks(isGzip ? decompressed(file, 'gzip') : file.stream(), most))
    text += decoder.decode(part, { stream: true })
  return text + decoder.decode()
}
