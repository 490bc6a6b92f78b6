// Text before it is drawn: its direction, an estimate of its width, and how an invisible token is shown.

export interface Label {
  text: string
  spaceBefore: boolean // a space precedes it in its sentence
  mark: boolean // a special token: <s> or </s>
  unknown?: boolean // the model does not know it, or a part of it
}

const kRightToLeft =
  /[\u0590-\u065f\u066d-\u06ef\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
const kLetter = /\p{L}/u
const kWide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const kNarrow = "iljtfrI.,:;'|!()[] /-"

// The number of right-to-left letters minus the number of other letters.
function rightToLeftSurplus(text: string): number {
  let sum = 0
  for (const c of text) if (kLetter.test(c)) sum += kRightToLeft.test(c) ? 1 : -1
  return sum
}

export const isRightToLeft = (text: string): boolean => rightToLeftSurplus(text) > 0
export const runsRightToLeft = (labels: readonly Label[]): boolean =>
  labels.reduce((sum, label) => sum + (label.mark ? 0 : rightToLeftSurplus(label.text)), 0) > 0

export const directionOf = (labels: readonly Label[]): 'rtl' | 'ltr' => (runsRightToLeft(labels) ? 'rtl' : 'ltr')

export const shown = (label: { text: string }): string => (label.text.trim() === '' ? '␣' : label.text)

// Isolates a token, so that its direction does not affect the sentence around it.
export const isolated = (text: string): string => `\u2068${text}\u2069`

// Estimates the width of a text in ems, where no canvas can measure it.
export function ems(text: string): number {
  let sum = 0
  for (const c of text) sum += kWide.test(c) ? 1 : kNarrow.includes(c) ? 0.38 : 0.61
  return sum
}

// Offsets in a record count code points, not UTF-16 units.
export const codePoints = (text: string, begin: number, end: number): string => [...text].slice(begin, end).join('')

export function shorten(text: string, fits: (part: string) => boolean): string {
  if (fits(text)) return text
  const points = [...text]
  let low = 1
  let high = points.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (fits(points.slice(0, middle).join('') + '…')) low = middle
    else high = middle - 1
  }
  return points.slice(0, low).join('') + '…'
}
