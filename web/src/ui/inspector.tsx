// The active step, whichever view points at it: its token, probability, alternatives, and the entropies of its attention
// and of its choice. Pressing an alternative decodes again with it as the next token.
import { effect, signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../i18n'
import { choiceEntropy, percent, rowEntropy } from '../model/grid'
import { shown } from '../model/text'
import { pathBefore, prefixBefore } from '../model/whatif'
import { opened } from '../state/answers'
import { grid, pickedRow, record } from '../state/derived'
import { hovered, set, state } from '../state/store'
import { barsOf } from '../views/steps'
import { Help } from './help'
import { RowEditor } from './row_editor'

// The last row pointed at stays active, so that the pointer can move here.
const inspected = signal(-1)

// Decodes again with that token at the step of a row.
function force(row: number, text: string): void {
  const token = grid.peek()!.firstToken[row]!
  const target = record.peek()!.target
  set({ prefix: prefixBefore(target, token), path: pathBefore(target, token), next: text, row })
}

function OwnToken({ row }: { row: number }) {
  const field = useRef<HTMLInputElement>(null)
  const submit = (event: Event): void => {
    event.preventDefault()
    const text = field.current!.value.trim()
    if (text) force(row, text)
  }
  return (
    <form class="own" onSubmit={submit}>
      <input ref={field} type="text" aria-label={t('step.own')} placeholder={t('step.own')} autocomplete="off" />
      <button type="submit">{t('step.own.try')}</button>
    </form>
  )
}

function Alternatives({ row }: { row: number }) {
  const g = grid.value!
  return (
    <ol class="bars">
      {barsOf(g, row, 8).map((bar) => {
        const p = percent(bar.probability)
        return (
          <li class={bar.taken ? 'taken' : ''}>
            <button
              type="button"
              disabled={bar.taken || state.target.value !== '' || opened.value !== null}
              onClick={() => force(row, bar.text)}
            >
              <span class="unseen">{t(bar.taken ? 'step.taken' : 'step.write')} </span>
              <bdi lang="">{shown(bar)}</bdi>
              <span class="bar">
                <span style={{ width: `${Math.max(1, 100 * Math.min(1, bar.probability))}%` }} />
              </span>
              <span class="p">{p}</span>
            </button>
          </li>
        )
      })}
    </ol>
  )
}

export function Inspector() {
  const [editing, setEditing] = useState(false)
  useEffect(
    () =>
      effect(() => {
        const row = hovered.value.row
        if (row >= 0) inspected.value = row
        else if (pickedRow.value >= 0) inspected.value = pickedRow.value
      }),
    [],
  )
  const g = grid.value
  // While a row is edited, pointing elsewhere does not change the active row.
  const wanted = editing && state.row.value >= 0 ? state.row.value : inspected.value
  const row = g && wanted < g.rows.length ? wanted : -1
  if (!g || row < 0 || g.rowSide !== 'target') {
    return (
      <aside class="inspector" aria-label={t('step')}>
        <p class="faint">{t('step.none')}</p>
      </aside>
    )
  }
  const choice = choiceEntropy(record.value?.steps[g.firstToken[row]!])
  const edit = (): void => {
    set({ row })
    setEditing(true)
  }
  return (
    <aside class="inspector" aria-label={t('step')}>
      <h2>
        {t('step.title', { step: row + 1 })} <bdi lang="">{shown(g.rows[row]!)}</bdi>
      </h2>
      {g.notes.length > 0 && (
        <>
          <p class="faint">{t(opened.value ? 'step.others' : 'step.choose')}</p>
          <Alternatives row={row} />
          {!opened.value && state.target.value === '' && <OwnToken row={row} />}
        </>
      )}
      <p class="entropies">
        {t(record.value?.image ? 'entropy.attention.picture' : 'entropy.attention.long', {
          value: Math.exp(rowEntropy(g, row)).toFixed(1),
          count: g.columns.length,
        })}{' '}
        {choice !== null && t('entropy.choice.long', { value: Math.exp(choice).toFixed(1) })}{' '}
        <Help term={t('entropy.attention')} text={t('entropy.help')} />
      </p>
      {g.reduction.kind === 'cross' &&
        !opened.value &&
        !record.value?.image &&
        (editing ? (
          <RowEditor key={`${g.firstToken[row]}`} step={g.firstToken[row]!} close={() => setEditing(false)} />
        ) : (
          <button type="button" onClick={edit}>
            {t('editor.open')}
          </button>
        ))}
    </aside>
  )
}
