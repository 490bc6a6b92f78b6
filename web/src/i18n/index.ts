// The interface in English and Chinese. A key that a language lacks does not compile.
import { computed } from '@preact/signals'
import { touch } from '../state/screen'
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

// `{point}` is what one does to see more of something: point at it, or tap it.
export function t(key: Key, values: Record<string, string | number> = {}): string {
  const words = kWords[language.value]
  return words[key].replace(/\{(\w+)\}/g, (_, name: string) =>
    name === 'point' ? words[touch.value ? 'point.touch' : 'point.mouse'] : String(values[name] ?? ''),
  )
}
