// Pictures for tests: PNG files of a coloured square.
import { deflateSync } from 'node:zlib'

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data])
  const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  size.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc(body))
  return Buffer.concat([size, body, sum])
}

function crc(bytes) {
  let c = ~0
  for (const b of bytes) {
    c ^= b
    for (let k = 0; k < 8; ++k) c = (c >>> 1) ^ (c & 1 ? 0xedb88320 : 0)
  }
  return ~c >>> 0
}

export function pngOf(width, height, colour = 0) {
  const rows = Buffer.alloc((3 * width + 1) * height, 20)
  for (let y = 0; y < height; ++y) {
    const row = (3 * width + 1) * y
    rows[row] = 0
    if (y < height / 4 || y >= (3 * height) / 4) continue
    for (let x = Math.ceil(width / 4); x < (3 * width) / 4; ++x) rows[row + 1 + 3 * x + colour] = 250
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const parts = [chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([signature, ...parts])
}

export const fileOf = (name, buffer, mimeType = 'image/png') => ({ name, mimeType, buffer })
