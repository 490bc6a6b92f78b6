// A button that copies a text and says that it did.
import { useState } from 'preact/hooks'
import { t } from '../i18n'

interface Props {
  name: string
  text: () => string
  help?: string
}

export function CopyButton({ name, text, help }: Props) {
  const [copied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text())
    } catch {
      return // A page without TLS, other than of this machine, may not write to the clipboard.
    }
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <button type="button" title={help} onClick={() => void copy()}>
      <span aria-live="polite">{copied ? t('copied') : name}</span>
    </button>
  )
}
