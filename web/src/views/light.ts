// How attention lights up a picture: what light_on and veil_of of src/view/picture_frames.cpp compute, as pixels of a
// canvas that is laid over the picture.
import type { Scale } from '../state/store'
import { onScale, type Rgb } from './colour'

const kDimmed = 0.8
const kLifted = 0.26
const kLight: Rgb = [255, 246, 214]

export interface Cells {
  rows: number
  columns: number
  weights: Float32Array // row by row; there may be more, for instance of no place
}

export interface Light {
  width: number
  height: number
  data: Uint8ClampedArray<ArrayBuffer> // red, green, blue, opacity
}

// What darkens or brightens a pixel with that much light, 0 to 1: red, green, blue, opacity.
export function veilOf(light: number): [number, number, number, number] {
  const lift = kLifted * light
  const opacity = lift + kDimmed * (1 - light) * (1 - lift)
  const part = opacity > 0 ? lift / opacity : 0
  return [kLight[0] * part, kLight[1] * part, kLight[2] * part, opacity]
}

// Weights between the centres of the cells are interpolated; the heaviest cell is fully lit. A few pixels for each cell
// are enough, because browsers enlarge a canvas smoothly.
export function lightOf({ rows, columns, weights }: Cells, scale: Scale): Light {
  const times = Math.min(16, Math.max(1, Math.floor(128 / Math.max(rows, columns))))
  const [width, height] = [columns * times, rows * times]
  const weight = (r: number, c: number): number => weights[r * columns + c] || 0
  let largest = 0
  for (let i = 0; i < rows * columns; ++i) largest = Math.max(largest, weights[i] || 0)
  const between = (pixel: number, cells: number): [number, number, number] => {
    const place = Math.min(cells - 1, Math.max(0, (pixel + 0.5) / times - 0.5))
    const first = Math.floor(place)
    return [first, Math.min(first + 1, cells - 1), place - first]
  }
  const lerp = (a: number, b: number, part: number): number => a + (b - a) * part
  const data = new Uint8ClampedArray(4 * width * height)
  for (let y = 0; y < height; ++y) {
    const [top, bottom, down] = between(y, rows)
    for (let x = 0; x < width; ++x) {
      const [left, right, aside] = between(x, columns)
      const above = lerp(weight(top, left), weight(top, right), aside)
      const below = lerp(weight(bottom, left), weight(bottom, right), aside)
      const [r, g, b, opacity] = veilOf(onScale(scale, lerp(above, below, down), largest || 1))
      data.set([r, g, b, 255 * opacity], 4 * (y * width + x))
    }
  }
  return { width, height, data }
}

// Attention on one place, given in parts of the picture's width and height, with nothing on the columns after the cells.
export function spotAt(x: number, y: number, { rows, columns, weights }: Cells): number[] {
  const spread = Math.max(0.09, 0.55 / Math.min(rows, columns))
  const spot = Array.from({ length: weights.length }, (_, i) => {
    if (i >= rows * columns) return 0
    const [dx, dy] = [((i % columns) + 0.5) / columns - x, (Math.floor(i / columns) + 0.5) / rows - y]
    const w = Math.exp(-(dx * dx + dy * dy) / (2 * spread * spread))
    return w < 0.002 ? 0 : w
  })
  const sum = spot.reduce((s, w) => s + w, 0)
  return spot.map((w) => Number((w / sum).toFixed(4)))
}
