// Settings behind a word. They open by themselves when one of them is not as usual, and never close by themselves.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

interface Props {
  name: string
  class: string
  isUsual: boolean
  children: ComponentChildren
}

export function Disclosure({ name, class: className, isUsual, children }: Props) {
  const [open, setOpen] = useState(!isUsual)
  useEffect(() => {
    if (!isUsual) setOpen(true)
  }, [isUsual])
  return (
    <details
      class={className}
      open={open}
      onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}
    >
      <summary>{name}</summary>
      {children}
    </details>
  )
}
