// How weights become colours: the palettes and scales of src/view/colour_scale.cpp, as lookup tables for millions of
// cells. tests/view/cases/colours.json has the cases of both.
import type { Palette, Scale } from '../state/store'

export interface Ink {
  paper: string
  ink: string
  faint: string
  rule: string
  link: string
  bar: string
  pen: string
  veil: string
}

// The same as in app.css.
export const kLight: Ink = {
  paper: '#ffffff',
  ink: '#1b1f24',
  faint: '#5b6570',
  rule: '#cdd3da',
  link: '#2b6cb0',
  bar: '#9aa5b1',
  pen: '#fee838',
  veil: 'rgba(255,255,255,.78)',
}
export const kDark: Ink = {
  paper: '#14171c',
  ink: '#e6e9ed',
  faint: '#a3adb8',
  rule: '#3a414b',
  link: '#7fb2ea',
  bar: '#6b7683',
  pen: '#fee838',
  veil: 'rgba(20,23,28,.8)',
}
// For print: no colour, so that a figure is the same on every printer.
export const kPrint: Ink = {
  paper: '#ffffff',
  ink: '#000000',
  faint: '#4d4d4d',
  rule: '#c4c4c4',
  link: '#404040',
  bar: '#9a9a9a',
  pen: '#bdbdbd',
  veil: 'rgba(255,255,255,.78)',
}

// Sixteen steps from white to nearly black, equal by CIEDE2000, each darker than the one before; colours between them are
// mixed in sRGB. On dark paper the scale is reversed, so that weight 0 has the colour of the paper on both.
const kPalettes: Record<Palette, number[]> = {
  blues: [
    0xffffff, 0xe9f2fa, 0xd3eafd, 0xb6daf9, 0x96c8f4, 0x78b5ed, 0x5ea1e2, 0x4a8fd4, 0x3d7fc5, 0x3370b4, 0x2d60a0,
    0x285188, 0x24426d, 0x213352, 0x1c273a, 0x171c25, 0x111213,
  ],
  greys: [
    0xffffff, 0xe9e9e9, 0xd5d5d5, 0xc3c3c3, 0xb2b2b2, 0xa2a2a2, 0x949494, 0x878787, 0x7b7b7b, 0x6f6f6f, 0x646464,
    0x575757, 0x4a4a4a, 0x3d3d3d, 0x2f2f2f, 0x212121, 0x121212,
  ],
}
// Differences: blue for less, orange for more, the paper for none; everyone can tell the two hues apart.
const kLess = 0x2b6cb0
const kMore = 0xc05621

export type Rgb = [number, number, number]
const rgb = (hex: number): Rgb => [hex >> 16, (hex >> 8) & 255, hex & 255]
const parse = (hex: string): number => parseInt(hex.slice(1), 16)
const mix = (a: number, b: number, part: number): Rgb => {
  const x = rgb(a)
  const y = rgb(b)
  return [0, 1, 2].map((i) => Math.round((1 - part) * x[i]! + part * y[i]!)) as Rgb
}

const kDecades = 3 // of a log scale

// The position of a weight on a scale that ends at `largest`, 0 to 1.
export function onScale(scale: Scale, weight: number, largest = 1): number {
  const w = Math.min(1, Math.max(0, weight / largest))
  if (scale === 'sqrt') return Math.sqrt(w)
  if (scale === 'log') return w > 0 ? Math.max(0, 1 + Math.log10(w) / kDecades) : 0
  return w
}
// The inverse of onScale.
function weightAt(scale: Scale, share: number, largest: number): number {
  if (scale === 'sqrt') return largest * share * share
  if (scale === 'log') return largest * 10 ** (kDecades * (share - 1))
  return largest * share
}

export function colourAt(palette: Palette, share: number, dark: boolean): Rgb {
  const steps = kPalettes[palette]
  const within = Math.min(1, Math.max(0, share))
  const place = (dark ? 1 - within : within) * (steps.length - 1)
  const below = Math.min(Math.floor(place), steps.length - 2)
  return mix(steps[below]!, steps[below + 1]!, place - below)
}

// The largest weight of some grids; 1 if all are 0.
export function largestOf(grids: { weights: Float32Array }[]): number {
  let most = 0
  for (const { weights } of grids) for (let i = 0; i < weights.length; ++i) if (weights[i]! > most) most = weights[i]!
  return most || 1
}

export const css = ([r, g, b]: Rgb): string => `#${((r << 16) | (g << 8) | b).toString(16).padStart(6, '0')}`

// Black or white, whichever has the higher contrast, by the relative luminance of WCAG 2.
export function inkOn(colour: Rgb): string {
  const [r, g, b] = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b! > 0.179 ? '#000000' : '#ffffff'
}

export interface Tick {
  share: number // of the scale
  name: string
}

// A function from weights to colours, with its table: `table[index(w)]` is a pixel.
export interface Tint {
  low: number // the weights of the first and last entries
  high: number
  table: Uint32Array // as bytes: red, green, blue, alpha
  colour(weight: number): Rgb
  at(share: number): number // the weight at a position of the legend, 0 to 1
  ticks: Tick[]
}

const kEntries = 4096

function tint(low: number, high: number, colour: (weight: number) => Rgb, at: Tint['at'], ticks: Tick[]): Tint {
  const table = new Uint32Array(kEntries)
  for (let i = 0; i < kEntries; ++i) {
    const [r, g, b] = colour(low + ((high - low) * i) / (kEntries - 1))
    table[i] = (255 << 24) | (b << 16) | (g << 8) | r // little-endian, as all machines with a browser are
  }
  return { low, high, table, colour, at, ticks }
}

const name = (weight: number): string => String(Number(weight.toPrecision(3)))

// Round weights below the largest, in falling order: on a linear scale multiples of the least 1, 2, 2.5 or 5 times a
// power of ten that is `gap` of the scale, else 1, 2 and 5 times the powers of ten themselves.
function roundWeights(scale: Scale, largest: number, gap: number): number[] {
  if (scale === 'linear') {
    const decade = 10 ** Math.floor(Math.log10(gap * largest))
    const step = decade * [1, 2, 2.5, 5, 10].find((times) => times * decade >= gap * largest * 0.999)!
    return Array.from({ length: Math.floor(largest / step) }, (_, i) => (i + 1) * step).reverse()
  }
  const weights: number[] = []
  for (let decade = 10 ** Math.floor(Math.log10(largest)); decade > largest * 1e-4; decade /= 10) {
    for (const times of scale === 'log' ? [1] : [5, 2, 1]) if (times * decade < largest) weights.push(times * decade)
  }
  return weights
}

// The two ends of the scale and round weights between them, at least `gap` of the scale apart.
export function ticksOf(scale: Scale, largest: number, gap = 0.25): Tick[] {
  const ticks: Tick[] = [{ share: 1, name: name(largest) }]
  for (const weight of roundWeights(scale, largest, gap)) {
    const share = onScale(scale, weight, largest)
    if (share <= ticks[ticks.length - 1]!.share - gap && share >= gap) ticks.push({ share, name: name(weight) })
  }
  const lowest = weightAt(scale, 0, largest)
  ticks.push({ share: 0, name: (lowest > 0 ? '≤ ' : '') + name(lowest) })
  return ticks.reverse()
}

export function weightTint(palette: Palette, scale: Scale, largest: number, dark: boolean): Tint {
  const colour = (w: number): Rgb => colourAt(palette, onScale(scale, w, largest), dark)
  return tint(0, largest, colour, (share) => weightAt(scale, share, largest), ticksOf(scale, largest))
}

export function changeTint(largest: number, ink: Ink): Tint {
  const most = Math.max(largest, 1e-6)
  const paper = parse(ink.paper)
  const colour = (w: number): Rgb => mix(paper, w < 0 ? kLess : kMore, Math.min(1, Math.abs(w) / most))
  const ticks = [-most, 0, most].map((w, i) => ({ share: i / 2, name: (w > 0 ? '+' : '') + name(w) }))
  return tint(-most, most, colour, (share) => most * (2 * share - 1), ticks)
}
