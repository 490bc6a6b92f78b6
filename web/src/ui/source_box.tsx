// The source: a text field that grows with its text and whose words are shaded by attention. The field's own letters are
// transparent; below it the same text is set in spans, one for each word of the grid. Pointing at a word, or moving the
// caret into it, selects its column.
import { useMemo, useRef } from 'preact/hooks'
import { t, type Key } from '../i18n'
import type { Grid } from '../model/grid'
import type { AttentionRecord } from '../model/record'
import { grid, record } from '../state/derived'
import { aroundPart, partAt, partIndex, pickPart, sentence } from '../state/paragraph'
import { hover, state } from '../state/store'
import { write } from './examples'
import { useShading } from './tokens'

interface Piece {
  text: string
  column: number // -1 between words
  begin: number // UTF-16 units
}

// The text in pieces, one for each column of the grid that has letters of it; `before` precedes it in the field.
function piecesOf(g: Grid, r: AttentionRecord, before: string): Piece[] {
  const points = [...r.source.text]
  const pieces: Piece[] = []
  let [at, unit] = [0, before.length]
  const add = (end: number, column: number): void => {
    if (end <= at) return
    const text = points.slice(at, end).join('')
    const last = pieces.at(-1)
    if (last && last.column === column && column >= 0) last.text += text
    else pieces.push({ text, column, begin: unit })
    at = end
    unit += text.length
  }
  r.source.tokens.forEach((token, i) => {
    if (token.end <= token.begin) return
    const column = g.columnWord[i] ?? -1
    add(token.begin, pieces.at(-1)?.column === column ? column : -1)
    add(token.end, column)
  })
  add(points.length, -1)
  return pieces
}

// Whether the words of the grid's columns are words of what is written in the field.
export const isSourceShown = (g: Grid | null, r: AttentionRecord | null): boolean =>
  g !== null && r !== null && g.columnSide === 'source' && !r.image && r.source.text === sentence.value

export function SourceBox({ hint, long }: { hint: Key; long: boolean }) {
  const [g, r, text] = [grid.value, record.value, state.text.value]
  const [before, within, after] = aroundPart.value
  const words = useRef<(HTMLElement | null)[]>([])
  const field = useRef<HTMLTextAreaElement>(null)
  const fits = isSourceShown(g, r)
  const pieces = useMemo(() => (fits ? piecesOf(g!, r!, before) : []), [g, r, fits, before])
  words.current.length = fits ? g!.columns.length : 0
  useShading(words, 'column', pieces)

  const select = (column: number): void => {
    if (g && g.rowSide === 'source') hover(column, -1)
    else hover(-1, column)
  }
  const point = (event: PointerEvent): void => {
    if (event.buttons !== 0) return
    const { clientX: x, clientY: y } = event
    const isIn = (b: DOMRect): boolean => x >= b.left && x < b.right && y >= b.top && y < b.bottom
    select(words.current.findIndex((word) => word && [...word.getClientRects()].some(isIn)))
  }
  const followCaret = (): void => {
    const caret = field.current!.selectionStart
    const part = partAt(caret)
    if (part >= 0 && part !== partIndex.peek()) return pickPart(part)
    select(pieces.find((p) => caret >= p.begin && caret < p.begin + p.text.length)?.column ?? -1)
  }
  const leave = (): void => hover(-1, -1)
  return (
    <div class={long ? 'source long' : 'source'}>
      <div class="backdrop" dir="auto" lang="" aria-hidden="true">
        {before && <span class="other">{before}</span>}
        {fits
          ? pieces.map(({ text: part, column }) =>
              column < 0 ? (
                part
              ) : (
                <span
                  class={g!.columns[column]?.unknown ? 'token unknown' : 'token'}
                  ref={(element) => void (words.current[column] = element)}
                >
                  {part}
                </span>
              ),
            )
          : within}
        {after && <span class="other">{after}</span>}
        {'\u200b'}
      </div>
      <textarea
        id="source"
        ref={field}
        dir="auto"
        lang=""
        rows={1}
        spellcheck={false}
        value={text}
        placeholder={t(hint)}
        onInput={(event) => write({ text: (event.target as HTMLTextAreaElement).value })}
        onPointerMove={point}
        onPointerLeave={leave}
        onKeyUp={followCaret}
        onClick={followCaret}
        onBlur={leave}
      />
    </div>
  )
}
