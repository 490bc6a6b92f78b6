// What a first visitor needs: what attention is and is not, and how to read the picture, said of a word that is in it.
import { computed, signal } from '@preact/signals'
import { t } from '../i18n'
import { heaviest, percent } from '../model/grid'
import { isolated, shown } from '../model/text'
import { activeRow, dark, grid } from '../state/derived'
import { introduced } from '../state/memory'
import { set } from '../state/store'

export function Lede() {
  return (
    <p class="lede">
      {t('lede')}{' '}
      <button type="button" class="link" onClick={() => set({ tour: 1 })}>
        {t('tour.open')}
      </button>
    </p>
  )
}

export const isIntroducing = computed(() => {
  const g = grid.value
  return !introduced.value && g !== null && g.columnSide === 'source' && g.notes.length > 0
})

// Whether the introduction stands beside the picture, and no other sentence is needed above it.
export const besideMap = signal(false)

// The picture read aloud, for the selected row.
export function Introduction() {
  const g = grid.value
  const row = activeRow.value
  if (!isIntroducing.value || !g) return null
  const column = row < 0 ? -1 : heaviest(g, row)
  const values = {
    stronger: t(dark.value ? 'brighter' : 'darker'),
    ...(column >= 0 && {
      row: isolated(shown(g.rows[row]!)),
      column: isolated(shown(g.columns[column]!)),
      share: percent(g.weights[row * g.columns.length + column]!),
    }),
  }
  return (
    <section class="introduction" aria-labelledby="introduction-name">
      <h3 id="introduction-name">{t('intro')}</h3>
      <ol>
        <li>{t('intro.row', values)}</li>
        <li>{t('intro.column', values)}</li>
        <li>{t('intro.colour', values)}</li>
        {column >= 0 && <li>{t(g.reduction.reads ? 'intro.example.reads' : 'intro.example', values)}</li>}
      </ol>
      <button type="button" class="small" onClick={() => (introduced.value = true)}>
        {t('intro.done')}
      </button>
    </section>
  )
}
