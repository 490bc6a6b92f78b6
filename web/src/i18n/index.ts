// The interface in English and Chinese, which is loaded when it is chosen. A key that a language lacks does not compile.
import { computed, signal } from '@preact/signals'
import { touch } from '../state/screen'
import { state } from '../state/store'
import { en } from './en'

export type Key = keyof typeof en
export const kLanguages = { en: 'English', zh: '中文' } as const
export type Language = keyof typeof kLanguages

const words = signal<Partial<Record<Language, Record<Key, string>>>>({ en })

export const language = computed<Language>(() => {
  if (state.lang.value === 'en' || state.lang.value === 'zh') return state.lang.value
  return typeof navigator !== 'undefined' && /^zh\b/i.test(navigator.language) ? 'zh' : 'en'
})

export const isKey = (key: string): key is Key => key in en

// Until a language is there, the interface is in English.
export async function loadLanguage(wanted: Language): Promise<void> {
  if (wanted === 'zh' && !words.peek().zh) words.value = { ...words.peek(), zh: (await import('./zh')).zh }
}

// `{point}` is what one does to see more of something: point at it, or tap it.
export function t(key: Key, values: Record<string, string | number> = {}): string {
  const now = words.value[language.value] ?? en
  return now[key].replace(/\{(\w+)\}/g, (_, name: string) =>
    name === 'point' ? now[touch.value ? 'point.touch' : 'point.mouse'] : String(values[name] ?? ''),
  )
}
