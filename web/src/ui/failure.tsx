// The error message of the server; if it asks for an API key, a field for it.
import { setKey } from '../api/client'
import { t } from '../i18n'
import { first, type Failure as What } from '../state/answers'
import { loadModels } from '../state/asking'

export function Failure({ failure }: { failure: What }) {
  const retry = (event: Event): void => {
    event.preventDefault()
    const key = new FormData(event.target as HTMLFormElement).get('key')
    if (typeof key === 'string') setKey(key)
    void loadModels()
  }
  const needsKey = failure.code === 'unauthorized' || failure.code === '401'
  return (
    <form class="failure" role="alert" onSubmit={retry}>
      <strong>{t('error')}.</strong> <span>{failure.message}</span> {first.value && <span>{t('stale')}</span>}
      {needsKey && (
        <label>
          {t('key')} <input name="key" type="password" autocomplete="off" />
        </label>
      )}
      {failure.code !== 'record' && <button type="submit">{needsKey ? t('key.send') : t('retry')}</button>}
    </form>
  )
}
