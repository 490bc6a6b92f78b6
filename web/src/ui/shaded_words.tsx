// A text whose words are shaded by weights, with the marker pen, or by changes, in two colours.
import { directionOf, shown, type Label } from '../model/text'
import { css, inkOn, type Rgb } from '../views/colour'
import { penOver } from '../views/steps'
import { inkNow } from './canvas_view'

const kMax = 600 // words

export interface Shade {
  colour: Rgb
  strength: number // 0 to 1; faint shades are not drawn
}

export const penShade = (share: number): Shade => {
  const { paper, pen } = inkNow()
  return { colour: penOver(paper, pen, share), strength: share }
}

interface Props {
  words: readonly Label[]
  shade: (index: number) => Shade
  title?: (index: number) => string
  className?: (index: number) => string
  // Words that can be pressed are buttons.
  press?: (index: number) => void
  pressed?: (index: number) => boolean
  more: (count: number) => string
}

const kFaint = 0.01

function styleOf({ colour, strength }: Shade): { backgroundColor: string; color: string } | undefined {
  if (!(strength >= kFaint)) return undefined
  return { backgroundColor: css(colour), color: strength > 0.08 ? inkOn(colour) : '' }
}

export function ShadedWords({ words, shade, title, className, press, pressed, more }: Props) {
  return (
    <p class="shaded" dir={directionOf(words)} lang="">
      {words.slice(0, kMax).map((word, i) => {
        const look = {
          class: `token ${word.mark ? 'mark' : ''} ${className?.(i) ?? ''}`,
          style: styleOf(shade(i)),
          title: title?.(i),
        }
        return (
          <>
            {word.spaceBefore && ' '}
            {press && !word.mark ? (
              <button type="button" dir="auto" {...look} aria-pressed={pressed?.(i)} onClick={() => press(i)}>
                {shown(word)}
              </button>
            ) : (
              <span {...look}>{shown(word)}</span>
            )}
          </>
        )
      })}
      {words.length > kMax && <span class="faint"> {more(words.length - kMax)}</span>}
    </p>
  )
}
