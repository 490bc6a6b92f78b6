// The interface in English and Chinese. A key that a language lacks does not compile.
import { computed } from '@preact/signals'
import { state } from '../state/store'
import { en } from './en'
import { zh } from './zh'

export type Key = keyof typeof en
export const kLanguages = { en: 'English', zh: '中文' } as const
export type Language = keyof typeof kLanguages

const kWords: Record<Language, Record<Key, string>> = { en, zh }

export const language = computed<Language>(() => {
  if (state.lang.value === 'en' || state.lang.value === 'zh') return state.lang.value
  return typeof navigator !== 'undefined' && /^zh\b/i.test(navigator.language) ? 'zh' : 'en'
})

export function t(key: Key, values: Record<string, string | number> = {}): string {
  return kWords[language.value][key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
}
