// How weights become colours: the palettes and scales of src/view/style.cpp, as tables that a loop over millions of
// cells can look into.
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
export const kLight: Ink = { paper: '#ffffff', ink: '#1b1f24', faint: '#5b6570', rule: '#d5dae0', link: '#2b6cb0', bar: '#9aa5b1', pen: '#fee838', veil: 'rgba(255,255,255,.78)' }
export const kDark: Ink = { paper: '#14171c', ink: '#e6e9ed', faint: '#a3adb8', rule: '#3a414b', link: '#7fb2ea', bar: '#6b7683', pen: '#fee838', veil: 'rgba(20,23,28,.8)' }

// Ten equal steps of each, dark to light; what lies between is mixed. Cividis (Nuñez, Anderton & Renslow 2018) is read
// alike with and without colour vision deficiency.
const kPalettes: Record<Palette, number[]> = {
  cividis: [0x00224e, 0x123570, 0x3b496c, 0x575d6d, 0x707173, 0x8a8678, 0xa59c74, 0xc3b369, 0xe1cc55, 0xfee838],
  viridis: [0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6ece58, 0xb5de2b, 0xfde725],
}
// Less, the same, more: blue and orange, which differ to everyone, through the paper.
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

const kLogFloor = 1e-3 // the least weight a log scale tells from nothing

export function onScale(scale: Scale, weight: number): number {
  const w = Math.min(1, Math.max(0, weight))
  if (scale === 'sqrt') return Math.sqrt(w)
  if (scale === 'log') return w <= kLogFloor ? 0 : 1 - Math.log(w) / Math.log(kLogFloor)
  return w
}

export function colourAt(palette: Palette, share: number): Rgb {
  const steps = kPalettes[palette]
  const place = Math.min(1, Math.max(0, share)) * (steps.length - 1)
  const below = Math.min(Math.floor(place), steps.length - 2)
  return mix(steps[below]!, steps[below + 1]!, place - below)
}

export const css = ([r, g, b]: Rgb): string => `#${((r << 16) | (g << 8) | b).toString(16).padStart(6, '0')}`

// Black or white, whichever is read more easily: relative luminance as WCAG 2 has it.
export function inkOn(colour: Rgb): string {
  const [r, g, b] = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b! > 0.179 ? '#000000' : '#ffffff'
}

// A function from weights to colours, with its table: `table[index(w)]` is a pixel.
export interface Tint {
  low: number // the weights of the first and last entries
  high: number
  table: Uint32Array // as bytes: red, green, blue, alpha
  colour(weight: number): Rgb
}

const kEntries = 4096

function tint(low: number, high: number, colour: (weight: number) => Rgb): Tint {
  const table = new Uint32Array(kEntries)
  for (let i = 0; i < kEntries; ++i) {
    const [r, g, b] = colour(low + ((high - low) * i) / (kEntries - 1))
    table[i] = (255 << 24) | (b << 16) | (g << 8) | r // little-endian, as every browser's machine is
  }
  return { low, high, table, colour }
}

const known = new Map<string, Tint>()
export function weightTint(palette: Palette, scale: Scale): Tint {
  const key = palette + scale
  if (!known.has(key)) known.set(key, tint(0, 1, (w) => colourAt(palette, onScale(scale, w))))
  return known.get(key)!
}

export function changeTint(largest: number, ink: Ink): Tint {
  const most = Math.max(largest, 1e-6)
  const paper = parse(ink.paper)
  return tint(-most, most, (w) => mix(paper, w < 0 ? kLess : kMore, Math.min(1, Math.abs(w) / most)))
}
