// What the screen is like: narrow as a phone's, and whether a finger does what elsewhere a pointer does.
import { signal, type Signal } from '@preact/signals'

function matching(query: string): Signal<boolean> {
  if (typeof matchMedia === 'undefined') return signal(false)
  const media = matchMedia(query)
  const now = signal(media.matches)
  media.addEventListener('change', () => (now.value = media.matches))
  return now
}

export const narrow = matching('(max-width: 640px)')
export const touch = matching('(hover: none)')
