// Writes the state to the address and reads it back. Defaults are left out; invalid values are ignored.
import { effect } from '@preact/signals'
import { kindNames } from '../model/record'
import type { Edit } from '../model/whatif'
import { kDefaults, kViews, set, state, type State } from './store'

const kChoices: Partial<Record<keyof State, readonly string[]>> = {
  view: kViews,
  kind: kindNames,
  how: ['mean', 'max', 'one', 'rollout', 'best'],
  scale: ['linear', 'sqrt', 'log'],
  palette: ['blues', 'greys'],
  lang: ['', 'en', 'zh'],
}
export const kRanges: Partial<Record<keyof State, readonly [number, number]>> = {
  beam: [1, 16],
  nbest: [1, 16],
  temperature: [0.001, 100],
  top_k: [0, 1e6],
  top_p: [0.001, 1],
  seed: [0, 2 ** 31],
  part: [1, 1e6],
  rank: [1, 16],
  layer: [0, 1000],
  head: [0, 1000],
  hide: [-1, 0.95],
  phrases: [-1, 1],
  row: [-1, 1e6],
  reply: [-1, 1e6],
  tour: [0, 20],
}

const kFractions: readonly (keyof State)[] = ['hide', 'temperature', 'top_p'] // the others are whole numbers

function readEdits(text: string): State['edits'] | undefined {
  try {
    const edits: unknown = JSON.parse(text)
    if (!Array.isArray(edits)) return undefined
    return (edits as (Partial<Edit> | null)[]).filter(
      (e): e is Edit => typeof e?.kind === 'string' && (e.off === true || Array.isArray(e.weights)),
    )
  } catch {
    return undefined
  }
}

function readList<T>(text: string, fits: (item: unknown) => item is T): T[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) && list.every(fits) ? list : undefined
  } catch {
    return undefined
  }
}
const isText = (item: unknown): item is string => typeof item === 'string'
const isPlace = (item: unknown): item is number => Number.isInteger(item) && (item as number) >= 0

function readOne(key: keyof State, text: string): unknown {
  const choices = kChoices[key]
  if (choices) return choices.includes(text) ? text : undefined
  const range = kRanges[key]
  if (range) {
    const value = Number(text)
    if (!Number.isFinite(value) || value < range[0] || value > range[1]) return undefined
    return kFractions.includes(key) ? value : Math.round(value)
  }
  if (key === 'words' || key === 'sample' || key === 'normalise') return text === '1'
  if (key === 'edits') return readEdits(text)
  if (key === 'path' || key === 'turns') return readList(text, isText)
  if (key === 'removed') return readList(text, isPlace)
  return text
}

export function decode(hash: string): State {
  const found = new URLSearchParams(hash.replace(/^#/, ''))
  const result: Record<string, unknown> = { ...kDefaults }
  for (const key of Object.keys(kDefaults) as (keyof State)[]) {
    const text = found.get(key)
    const value = text === null ? undefined : readOne(key, text)
    if (value !== undefined) result[key] = value
  }
  return result as unknown as State
}

export function encode(from: State): string {
  const out = new URLSearchParams()
  for (const [key, value] of Object.entries(from) as [keyof State, State[keyof State]][]) {
    if (Array.isArray(value)) {
      if (value.length > 0) out.set(key, JSON.stringify(value))
    } else if (value !== kDefaults[key]) {
      out.set(key, value === true ? '1' : value === false ? '0' : String(value))
    }
  }
  return out.toString()
}

export const snapshot = (): State =>
  Object.fromEntries(Object.entries(state).map(([k, s]) => [k, s.value])) as unknown as State

// The address is written with a delay after the last change, because browsers limit the rate of changes.
export function followAddress(): void {
  set(decode(location.hash))
  let written = encode(snapshot())
  let timer = 0
  effect(() => {
    const next = encode(snapshot())
    clearTimeout(timer)
    timer = window.setTimeout(() => {
      if (next === written) return
      written = next
      history.replaceState(null, '', next ? `#${next}` : location.pathname + location.search)
    }, 120)
  })
  addEventListener('hashchange', () => {
    const next = decode(location.hash)
    written = encode(next)
    set(next)
  })
}
