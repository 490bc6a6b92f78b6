// The latest inputs of this browser, to return to.
import { t } from '../i18n'
import { past, goBackTo } from '../state/memory'
import { models } from '../state/answers'

export function Past() {
  const known = past.value.filter((p) => models.value.some((m) => m.name === p.model))
  if (known.length === 0) return null
  return (
    <details class="past">
      <summary>{t('past')}</summary>
      <ul>
        {known.map((entry) => (
          <li>
            <button type="button" onClick={() => goBackTo(entry)}>
              <span class="faint">{entry.model}</span> <bdi lang="">{entry.question || entry.text}</bdi>{' '}
              <bdi class="faint" lang="">
                → {entry.output}
              </bdi>
            </button>
          </li>
        ))}
      </ul>
      <button type="button" class="small" onClick={() => (past.value = [])}>
        {t('past.clear')}
      </button>
    </details>
  )
}
