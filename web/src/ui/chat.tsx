// A conversation. Pressing a reply shows what it attended to: the turns before it are shaded, and the views below show
// its record.
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../i18n'
import type { Grid } from '../model/grid'
import type { Sentence } from '../model/record'
import type { Example } from '../model/task'
import { turnsIn, type Turn } from '../model/words'
import { first, modelInfo } from '../state/answers'
import { replaceReply, say, shownReply, takeBack } from '../state/conversation'
import { dark, grid, record } from '../state/derived'
import { hovered, set, setTurns, state } from '../state/store'
import { css, inkOn, onScale } from '../views/colour'
import { answerStatus } from './answer_status'
import { Candidates } from './ask'
import { Examples } from './examples'
import { Search } from './search'
import { penShade } from './shaded_words'

// The weight of each source token, relative to the largest: of the row that is pointed at, or of the mean of all.
function sharesOf(g: Grid, row: number): Float32Array {
  const width = g.columns.length
  const sum = new Float32Array(width)
  for (let r = 0; r < g.rows.length; ++r) {
    if (row >= 0 && r !== row) continue
    for (let c = 0; c < width; ++c) sum[c]! += g.weights[r * width + c]! || 0
  }
  const most = Math.max(...sum, 1e-9)
  return Float32Array.from(g.columnWord, (column) => onScale(state.scale.value, sum[column]! / most))
}

// The row that somebody chose; until then all rows count.
const chosenRow = (): number => (hovered.value.row >= 0 ? hovered.value.row : state.row.value)

// The tokens of a turn as the model read them, shaded.
function Shaded({ source, turn, shares }: { source: Sentence; turn: Turn; shares: Float32Array }) {
  const points = [...source.text]
  let end = source.tokens[turn.begin]?.begin ?? 0
  return (
    <>
      {source.tokens.slice(turn.begin, turn.end).map((token, i) => {
        const before = points.slice(end, token.begin).join('')
        end = Math.max(end, token.end)
        const { colour, strength } = penShade(shares[turn.begin + i] ?? 0)
        const style = strength >= 0.02 ? { backgroundColor: css(colour), color: inkOn(colour) } : undefined
        return (
          <>
            {before}
            <span style={style}>{points.slice(token.begin, token.end).join('')}</span>
          </>
        )
      })}
    </>
  )
}

function Bubbles() {
  const turns = state.turns.value
  const due = turns.length % 2 === 1
  const at = shownReply(turns, state.reply.value)
  const r = record.value
  const g = grid.value
  void dark.value
  // The turns that the model has read; older ones may not fit.
  const read = r && g && g.columnSide === 'source' && first.value?.live !== true ? turnsIn(r.source) : []
  const shares = read.length > 0 ? sharesOf(g!, g!.rowSide === 'target' ? chosenRow() : -1) : null
  const turnOf = (i: number): Turn | undefined => (i < at ? read[read.length - at + i] : undefined)
  const end = useRef<HTMLLIElement>(null)
  const live = due ? first.value?.text : undefined
  useEffect(() => end.current?.scrollIntoView({ block: 'nearest' }), [turns.length, live])
  return (
    <ol class="turns" aria-label={t('chat')} aria-live="polite">
      {turns.map((text, i) => {
        const turn = turnOf(i)
        const words = turn && shares && r ? <Shaded source={r.source} turn={turn} shares={shares} /> : text
        const unread = read.length > 0 && i < at && !turn
        if (i % 2 === 0)
          return (
            <li class={unread ? 'mine unread' : 'mine'} title={unread ? t('chat.unread') : undefined}>
              <span class="unseen">{t('chat.you')} </span>
              <span dir="auto" lang="">
                {words}
              </span>
            </li>
          )
        return (
          <li class={unread ? 'unread' : ''} title={unread ? t('chat.unread') : undefined}>
            <button
              type="button"
              aria-pressed={i === at}
              title={t('chat.press')}
              onClick={() => set({ reply: i === turns.length - 1 ? -1 : i, row: -1 })}
            >
              <span class="unseen">{t('chat.model')} </span>
              <span dir="auto" lang="">
                {words || '…'}
              </span>
            </button>
          </li>
        )
      })}
      {due && (
        <li class="live">
          <span dir="auto" lang="">
            {(first.value?.live && first.value.text) || '…'}
          </span>
        </li>
      )}
      <li ref={end} class="end" aria-hidden="true" />
    </ol>
  )
}

function Field() {
  const field = useRef<HTMLTextAreaElement>(null)
  const due = state.turns.value.length % 2 === 1
  const send = (): void => {
    const text = field.current!.value
    if (due || text.trim() === '') return
    say(text)
    field.current!.value = ''
  }
  return (
    <form class="say" onSubmit={(event) => (event.preventDefault(), send())}>
      <textarea
        ref={field}
        id="source"
        dir="auto"
        rows={1}
        aria-label={t('chat.say')}
        placeholder={t('chat.hint')}
        title={t('chat.keys')}
        onKeyDown={(event) => {
          // While an input method composes, Enter chooses a word.
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          send()
        }}
      />
      <button type="submit" class="primary" disabled={due}>
        {t('chat.send')}
      </button>
    </form>
  )
}

export function Chat() {
  const turns = state.turns.value
  const due = turns.length % 2 === 1
  const start = (example: Example): void => {
    if (typeof example === 'string') setTurns([example])
    else if (Array.isArray(example)) setTurns(example.length % 2 === 1 ? example : example.slice(0, -1))
  }
  const answer = first.value
  const isLatest = shownReply(turns, state.reply.value) === turns.length - 1
  const again = (): void => takeBack(turns.length - 1)
  const status = answerStatus('writing', turns.length > 0 ? answer : null)
  return (
    <section class="chat" aria-label={t('chat')}>
      {turns.length > 0 ? <Bubbles /> : <p class="faint">{t('chat.empty')}</p>}
      <Field />
      {turns.length === 0 && <Examples examples={modelInfo.value?.examples ?? []} pick={start} />}
      {isLatest && !due && (
        <Candidates pick={(rank) => answer && replaceReply(answer.candidates[rank - 1]!.text, answer, rank)} />
      )}
      {record.value?.cut && <p class="note">{t('chat.cut')}</p>}
      <div class="under">
        {turns.length > 0 && (
          <>
            {!due && (
              <button type="button" onClick={again}>
                {t('chat.again')}
              </button>
            )}
            <button type="button" onClick={() => setTurns([])}>
              {t('chat.reset')}
            </button>
          </>
        )}
        <Search again={due || turns.length === 0 ? undefined : again} />
      </div>
      {turns.length > 1 && (
        <p class="faint">
          {t('chat.about')} <span class="status">{status}</span>
        </p>
      )}
    </section>
  )
}
