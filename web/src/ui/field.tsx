// A labelled menu.
interface Props<T extends string | number> {
  label: string
  value: T
  options: readonly (readonly [T, string])[]
  onPick: (value: T) => void
  disabled?: boolean
}

export function Menu<T extends string | number>({ label, value, options, onPick, disabled }: Props<T>) {
  const pick = (event: Event): void => {
    const at = (event.target as HTMLSelectElement).selectedIndex
    onPick(options[at]![0])
  }
  return (
    <label class="field">
      <span>{label}</span>
      <select onChange={pick} disabled={disabled}>
        {options.map(([key, name]) => (
          <option key={key} value={key} selected={key === value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
