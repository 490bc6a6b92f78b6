// What the browser remembers between visits: the theme, whether the introduction was read, and the latest inputs. Nothing
// of it is sent. A browser that forbids storage forgets.
import { effect, signal, type Signal } from '@preact/signals'
import { opened, first, modelName, form } from './answers'
import { dark } from './derived'
import { shownParagraph } from './paragraph'
import { set, setModel, setText, state } from './store'

function remembered<T>(key: string, otherwise: T, fits: (value: unknown) => value is T): Signal<T> {
  let value = otherwise
  try {
    const found: unknown = JSON.parse(localStorage.getItem(`fovea.${key}`) ?? 'null')
    if (fits(found)) value = found
  } catch {
    // Damaged or forbidden: as on a first visit.
  }
  const kept = signal(value)
  effect(() => {
    const text = JSON.stringify(kept.value)
    try {
      if (text !== JSON.stringify(otherwise)) localStorage.setItem(`fovea.${key}`, text)
      else localStorage.removeItem(`fovea.${key}`)
    } catch {
      // Forbidden or full.
    }
  })
  return kept
}

type Theme = '' | 'light' | 'dark' // '' for what the system says
export const theme = remembered<Theme>('theme', '', (x): x is Theme => x === '' || x === 'light' || x === 'dark')

export const introduced = remembered('introduced', false, (x): x is boolean => typeof x === 'boolean')

export interface Past {
  model: string
  text: string
  question: string
  output: string
}
const kMostPast = 12
const kLongestPast = 2000 // characters of an input that is remembered
const isText = (x: unknown): x is string => typeof x === 'string'
const isPast = (x: unknown): x is Past =>
  typeof x === 'object' &&
  x !== null &&
  ['model', 'text', 'question', 'output'].every((key) => isText((x as Record<string, unknown>)[key]))
export const past = remembered<Past[]>('past', [], (x): x is Past[] => Array.isArray(x) && x.every(isPast))

export function goBackTo({ model, text, question }: Past): void {
  opened.value = null
  if (model !== modelName.peek()) setModel(model)
  set({ question })
  setText(text)
}

// An input is remembered when its answer has stood for a while: not every key that was pressed on the way to it.
const kStands = 2000 // ms

export function keepMemory(): void {
  const night = matchMedia('(prefers-color-scheme: dark)')
  const system = signal(night.matches)
  night.addEventListener('change', () => (system.value = night.matches))
  effect(() => {
    dark.value = theme.value === '' ? system.value : theme.value === 'dark'
    document.documentElement.dataset.theme = theme.value
  })
  let timer = 0
  effect(() => {
    clearTimeout(timer)
    const answer = first.value
    const [text, question] = [state.text.value, state.question.value]
    if (!answer || answer.live || opened.value || text.trim() === '' || text.length > kLongestPast) return
    if (form.value === 'chat' || form.value === 'caption') return
    timer = window.setTimeout(() => {
      const entry = { model: modelName.peek(), text, question, output: shownParagraph.peek()?.text ?? answer.text }
      const others = past.peek().filter((p) => p.model !== entry.model || p.text !== text || p.question !== question)
      past.value = [entry, ...others].slice(0, kMostPast)
    }, kStands)
  })
}
