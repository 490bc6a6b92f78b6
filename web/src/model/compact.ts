// Unpacks the compact form of attention weights (docs/record.md): each row is its largest weight s as a 16-bit fraction of
// 65535, little-endian, and a byte q for each column: w = s / 65535 * q / 254; q = 255 marks an absent cell.
import { inflate } from './inflate'

const kScaleBytes = 2
const kAbsent = 255

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i)
  return bytes
}

export const packedSize = (rows: number, columns: number): number => rows * (kScaleBytes + columns)

// Unpacks zlib in base64; throws TooLarge for more bytes than `most`.
export const unpack = async (packed: string, most: number): Promise<Uint8Array> => inflate(fromBase64(packed), most)

// Unpacks the row that starts at byte `at` into `to`, from cell `cell` on.
export function readRow(bytes: Uint8Array, at: number, columns: number, to: Float32Array, cell: number): void {
  const step = (bytes[at]! | (bytes[at + 1]! << 8)) / 65535 / 254
  for (let c = 0; c < columns; ++c) {
    const q = bytes[at + kScaleBytes + c]!
    to[cell + c] = q === kAbsent ? NaN : q * step
  }
}
