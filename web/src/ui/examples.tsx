// Inputs that a model suggests, as buttons.
import { t } from '../i18n'
import { exampleName, filledWith, type Example, type Filled } from '../model/task'
import { opened } from '../state/answers'
import { set, setText } from '../state/store'

const kMost = 4

// New input closes the file: the model answers again.
export function write({ text, ...rest }: Partial<Filled> & { text: string }): void {
  opened.value = null
  set(rest)
  setText(text)
}

interface Props {
  examples: readonly Example[]
  pick?: (example: Example) => void
}

export function Examples({ examples, pick = (example) => write(filledWith(example)) }: Props) {
  if (examples.length === 0) return null
  return (
    <p class="examples">
      <span class="faint">{t('examples')}</span>
      {examples.slice(0, kMost).map((example) => (
        <button type="button" class="chip" dir="auto" lang="" onClick={() => pick(example)}>
          {exampleName(example)}
        </button>
      ))}
    </p>
  )
}
