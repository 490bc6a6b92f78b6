// The sentences of the grid that the form itself does not show as words. Pointing at a word shades the other sentence by
// its attention weights.
import { useMemo, useRef } from 'preact/hooks'
import { t } from '../i18n'
import { labelsOf } from '../model/subwords'
import { grid, record, sideName } from '../state/derived'
import { hover } from '../state/store'
import { pickRow } from './canvas_view'
import { Tokens, useShading, type Range, type Side } from './tokens'

// The labels of the source that overlap with its characters [begin, end).
function labelsWithin(place: { begin: number; end: number } | undefined, words: boolean): Range | null {
  const source = record.value?.source
  if (!source || !place || place.end <= place.begin) return null
  const { labelOfToken } = labelsOf(source, words)
  const within = labelOfToken.filter((_, i) => {
    const token = source.tokens[i]!
    return token.begin < place.end && token.end > place.begin
  })
  return within.length > 0 ? { begin: within[0]!, end: within[within.length - 1]! + 1 } : null
}

function Line({ side, range }: { side: Side; range: Range | null }) {
  const g = grid.value!
  const words = useRef<(HTMLElement | null)[]>([])
  useShading(words, side, range)
  const axis = side === 'row' ? g.rowSide : g.columnSide
  return (
    <>
      <h2 id={`side-${side}`}>{sideName(axis)}</h2>
      <Tokens
        labels={side === 'row' ? g.rows : g.columns}
        name={`side-${side}`}
        words={words}
        marked={axis === 'source' ? range : null}
        place={(i) => (side === 'row' ? hover(i, -1) : hover(-1, i))}
        press={(i) => (side === 'row' ? pickRow(i) : hover(-1, i))}
      />
    </>
  )
}

interface Props {
  marked?: { begin: number; end: number } | undefined // characters of the source
  sides: readonly Side[]
}

export function Pair({ marked, sides }: Props) {
  const g = grid.value
  const range = useMemo(() => labelsWithin(marked, g?.reduction.words ?? false), [g, marked?.begin, marked?.end])
  if (!g || sides.length === 0) return null
  return (
    <section class={marked ? 'pair tall' : 'pair'} aria-label={t('pair')}>
      {sides.map((side) => (
        <Line key={side} side={side} range={range} />
      ))}
    </section>
  )
}
