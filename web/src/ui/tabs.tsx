// The views as tabs: one tab stop, with arrow keys between the tabs. On a narrow screen they scroll, and the selected one
// is brought into sight.
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../i18n'
import { view as chosen, views } from '../state/derived'
import { set, type View } from '../state/store'

export function Tabs() {
  const all = views.value
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>('[aria-selected=true]')
    if (tab) list.current!.scrollLeft = tab.offsetLeft - (list.current!.clientWidth - tab.offsetWidth) / 2
  }, [chosen.value])
  const key = (event: KeyboardEvent): void => {
    const from = all.indexOf(chosen.peek())
    const last = all.length - 1
    const to = {
      ArrowRight: from === last ? 0 : from + 1,
      ArrowLeft: from === 0 ? last : from - 1,
      Home: 0,
      End: last,
    }[event.key]
    if (to === undefined) return
    event.preventDefault()
    set({ view: all[to]! })
    document.getElementById(`tab-${all[to]}`)?.focus()
  }
  return (
    <div class="tabs" ref={list} role="tablist" aria-label={t('views')} onKeyDown={key}>
      {all.map((view: View) => (
        <button
          type="button"
          role="tab"
          id={`tab-${view}`}
          aria-selected={chosen.value === view}
          aria-controls="panel"
          tabIndex={chosen.value === view ? 0 : -1}
          onClick={() => set({ view })}
        >
          {t(`view.${view}`)}
        </button>
      ))}
    </div>
  )
}
