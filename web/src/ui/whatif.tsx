// The edits, and the answer with them beside the original: which words changed, and how much their probabilities did.
import { useMemo } from 'preact/hooks'
import { t } from '../i18n'
import { align } from '../model/compare'
import { percent } from '../model/grid'
import type { AttentionRecord } from '../model/record'
import { labelsOf } from '../model/subwords'
import { directionOf, shown } from '../model/text'
import { isChanged, second, secondFailure } from '../state/answers'
import { otherRecord, record } from '../state/derived'
import { clearWhatIf, set, state } from '../state/store'
import { changeText } from './compare_panel'

interface Change {
  text: string
  remove: () => void
}

function changes(): Change[] {
  const { prefix, next, edits, second: model } = state
  const list: Change[] = []
  if (model.value) list.push({ text: t('whatif.model', { model: model.value }), remove: () => set({ second: '' }) })
  if (next.value || prefix.value) {
    list.push({
      text: t(next.value ? 'whatif.next' : 'whatif.prefix', {
        prefix: `\u2068${prefix.value.trimEnd()}\u2069`,
        next: `\u2068${next.value}\u2069`,
      }),
      remove: () => set({ prefix: '', path: [], next: '' }),
    })
  }
  for (const edit of edits.value) {
    const heads = edit.head === null ? t('whatif.all') : t('whatif.head', { layer: edit.layer ?? 1, head: edit.head })
    const text = edit.off
      ? t('whatif.off', {
          kind: t(`kind.${edit.kind}`),
          layer: edit.layer ?? t('layer.all'),
          head: edit.head ?? t('layer.all'),
        })
      : t('whatif.row', { row: (edit.row ?? 0) + 1, heads })
    list.push({ text, remove: () => set({ edits: state.edits.peek().filter((e) => e !== edit) }) })
  }
  return list
}

// The tokens of an answer. Tokens that `other` does not have are marked; changed probabilities are below the tokens.
function Written({ own, other }: { own: AttentionRecord; other: AttentionRecord | null }) {
  const labels = useMemo(() => labelsOf(own.target, false).labels, [own])
  const pairs = useMemo(
    () =>
      new Map(
        other
          ? align(
              labels.map((l) => l.text),
              other.target.tokens.map((x) => x.text),
            )
          : [],
      ),
    [labels, other],
  )
  return (
    <p class="written" dir={directionOf(labels)} lang="">
      {labels.slice(0, 300).map((label, i) => {
        const p = Math.exp(own.steps[i]?.log_probability ?? 0)
        const was = pairs.get(i)
        const before = other && was !== undefined ? Math.exp(other.steps[was]?.log_probability ?? 0) : null
        const much = before !== null && Math.abs(p - before) >= 0.0005
        return (
          <>
            {label.spaceBefore && ' '}
            <span class={other && was === undefined ? 'word new' : 'word'}>
              <bdi class={label.mark ? 'mark' : ''}>{shown(label)}</bdi>
              {other && (
                <small>
                  {was === undefined ? percent(p) : much ? t('points', { value: changeText(before, p) }) : ''}
                </small>
              )}
            </span>
          </>
        )
      })}
    </p>
  )
}

export function WhatIf() {
  if (!isChanged.value) return null
  return (
    <section class="whatif" aria-labelledby="whatif-name">
      <h2 id="whatif-name">{t('whatif')}</h2>
      <ul>
        {changes().map((change) => (
          <li class="chip">
            {change.text}{' '}
            <button type="button" aria-label={t('whatif.remove', { what: change.text })} onClick={change.remove}>
              ×
            </button>
          </li>
        ))}
      </ul>
      {secondFailure.value && <p class="note">{secondFailure.value.message}</p>}
      {second.value && !secondFailure.value && otherRecord.value && record.value && (
        <div class="answers">
          <h3>{t('whatif.was')}</h3>
          <Written own={record.value} other={null} />
          <h3>{t('whatif.is')}</h3>
          <Written own={otherRecord.value} other={record.value} />
        </div>
      )}
      <p class="buttons">
        {state.view.value !== 'compare' && (
          <button type="button" onClick={() => set({ view: 'compare' })}>
            {t('whatif.open')}
          </button>
        )}
        <button type="button" onClick={clearWhatIf}>
          {t('whatif.clear')}
        </button>
      </p>
    </section>
  )
}
