// Explains a term: a small button that opens a note, by pointer, touch and keyboard alike.
import { useId } from 'preact/hooks'
import { t } from '../i18n'

const kGap = 6 // px between the button and its note

// The note is in the top layer, where it needs a position of its own: below its button, inside the window.
function place(note: HTMLElement): void {
  const button = document.querySelector(`[popovertarget="${note.id}"]`)!.getBoundingClientRect()
  const left = Math.min(button.left, document.documentElement.clientWidth - note.offsetWidth - 12)
  note.style.left = `${Math.max(12, left)}px`
  const below = button.bottom + kGap
  const fits = below + note.offsetHeight < innerHeight
  note.style.top = `${fits ? below : Math.max(kGap, button.top - kGap - note.offsetHeight)}px`
}

export function Help({ term, text }: { term: string; text: string }) {
  const id = `help-${useId()}`
  return (
    <>
      <button type="button" class="help" aria-label={t('help', { term })} title={text} popovertarget={id}>
        ?
      </button>
      <span
        id={id}
        class="help-note"
        role="note"
        popover="auto"
        onToggle={(event) => (event as ToggleEvent).newState === 'open' && place(event.currentTarget)}
      >
        {text}
      </span>
    </>
  )
}
