// What stands beside an output: the file it was read from, that it is on its way, or how long it took.
import { t, type Key } from '../i18n'
import { busy, opened, type Answer } from '../state/answers'

export function answerStatus(waiting: Key, answer: Answer | null): string {
  if (opened.value) return t('file.from', { name: opened.value.name })
  if (busy.value) return t(waiting)
  return answer ? t('took', { ms: answer.milliseconds.toFixed(answer.milliseconds < 10 ? 1 : 0) }) : ''
}
