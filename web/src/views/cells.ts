// Rasterises weights. If a cell is at least a pixel, the image has one pixel per cell and is enlarged without smoothing;
// if there are more cells than pixels, a pixel shows the largest weight in it, so that no peak is lost.
import type { Tint } from './colour'

export interface Cells {
  weights: Float32Array
  rows: number
  columns: number
  mirror: boolean // columns run from right to left
  tint: Tint
}

export interface Raster {
  width: number
  height: number
  pixels: Uint32Array<ArrayBuffer> // 0, which is transparent, for an absent cell
}

function exact(cells: Cells): Raster {
  const { weights, rows, columns, mirror, tint } = cells
  const { table, low, high } = tint
  const times = (table.length - 1) / (high - low)
  const pixels = new Uint32Array(rows * columns)
  const last = table.length - 1
  for (let r = 0, i = 0; r < rows; ++r) {
    let to = mirror ? i + columns - 1 : i
    const step = mirror ? -1 : 1
    for (let c = 0; c < columns; ++c, ++i, to += step) {
      const w = weights[i]!
      if (w !== w) continue
      const entry = ((w - low) * times + 0.5) | 0
      pixels[to] = table[entry < 0 ? 0 : entry > last ? last : entry]!
    }
  }
  return { width: columns, height: rows, pixels }
}

// Workspace for the largest weight of each pixel, reused between paints.
let largest = new Float32Array(0)

function shrunk(cells: Cells, width: number, height: number): Raster {
  const { weights, rows, columns, mirror, tint } = cells
  if (largest.length < width * height) largest = new Float32Array(width * height)
  const most = largest.subarray(0, width * height).fill(-Infinity)
  // The first column of each pixel. The loop is over pixels, so that the largest weight stays in a register.
  const begin = Uint32Array.from({ length: width + 1 }, (_, x) => Math.ceil((x * columns) / width))
  const signed = tint.low < 0
  for (let r = 0; r < rows; ++r) {
    const line = Math.floor((r * height) / rows) * width
    const row = r * columns
    for (let x = 0; x < width; ++x) {
      const to = line + (mirror ? width - 1 - x : x)
      let now = most[to]!
      for (let i = row + begin[x]!, end = row + begin[x + 1]!; i < end; ++i) {
        const w = weights[i]!
        // Of differences, the largest in absolute value.
        if (signed && now !== -Infinity ? Math.abs(w) > Math.abs(now) : w > now) now = w
      }
      most[to] = now
    }
  }
  const { table, low, high } = tint
  const times = (table.length - 1) / (high - low)
  const last = table.length - 1
  const pixels = new Uint32Array(width * height)
  for (let i = 0; i < pixels.length; ++i) {
    const w = most[i]!
    if (w === -Infinity) continue
    const entry = ((w - low) * times + 0.5) | 0
    pixels[i] = table[entry < 0 ? 0 : entry > last ? last : entry]!
  }
  return { width, height, pixels }
}

// Rasterises for an area of `width` x `height` device pixels.
export function rasterise(cells: Cells, width: number, height: number): Raster {
  const w = Math.max(1, Math.round(width))
  const h = Math.max(1, Math.round(height))
  if (cells.columns <= w && cells.rows <= h) return exact(cells)
  return shrunk(cells, Math.min(w, cells.columns), Math.min(h, cells.rows))
}

let scratch: HTMLCanvasElement | null = null
export function toCanvas(raster: Raster, canvas = (scratch ??= document.createElement('canvas'))): HTMLCanvasElement {
  canvas.width = raster.width
  canvas.height = raster.height
  const bytes = new Uint8ClampedArray(raster.pixels.buffer)
  canvas.getContext('2d')!.putImageData(new ImageData(bytes, raster.width, raster.height), 0, 0)
  return canvas
}
