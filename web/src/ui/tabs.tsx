// The views as tabs: one tab stop, with arrow keys between the tabs.
import { t } from '../i18n'
import { attention } from '../state/derived'
import { kViews, set, state, type View } from '../state/store'

export function Tabs() {
  const a = attention.value
  // A model with one head needs no view of heads.
  const views = kViews.filter((v) => v !== 'heads' || !a || a.layers * a.heads > 1)
  const key = (event: KeyboardEvent): void => {
    const from = views.indexOf(state.view.peek())
    const last = views.length - 1
    const to = {
      ArrowRight: from === last ? 0 : from + 1,
      ArrowLeft: from === 0 ? last : from - 1,
      Home: 0,
      End: last,
    }[event.key]
    if (to === undefined) return
    event.preventDefault()
    set({ view: views[to]! })
    document.getElementById(`tab-${views[to]}`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={t('views')} onKeyDown={key}>
      {views.map((view: View) => (
        <button
          type="button"
          role="tab"
          id={`tab-${view}`}
          aria-selected={state.view.value === view}
          aria-controls="panel"
          tabIndex={state.view.value === view ? 0 : -1}
          onClick={() => set({ view })}
        >
          {t(`view.${view}`)}
        </button>
      ))}
    </div>
  )
}
