import { t } from '../i18n'
import { set } from '../state/store'
export function Tour() {
  return (
    <button type="button" onClick={() => set({ tour: 0 })}>
      {t('tour.close')}
    </button>
  )
}
