// A labelled menu, and a labelled number.
interface Props<T extends string | number> {
  label: string
  value: T
  options: readonly (readonly [T, string])[]
  onPick: (value: T) => void
  disabled?: boolean
  help?: string | undefined // shown while the pointer rests on it
}

export function Menu<T extends string | number>({ label, value, options, onPick, disabled, help }: Props<T>) {
  const pick = (event: Event): void => {
    const at = (event.target as HTMLSelectElement).selectedIndex
    onPick(options[at]![0])
  }
  return (
    <label class="field" title={help}>
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

interface NumberProps {
  label: string
  value: number
  range: readonly [number, number]
  step: number | 'any'
  onPick: (value: number) => void
}

// What is half typed, or out of range, changes nothing; when the field is left it shows what holds.
export function NumberField({ label, value, range, step, onPick }: NumberProps) {
  const type = (event: Event): void => {
    const field = event.target as HTMLInputElement
    if (field.value !== '' && field.checkValidity()) onPick(field.valueAsNumber)
  }
  const leave = (event: Event): void => void ((event.target as HTMLInputElement).value = String(value))
  return (
    <label class="field">
      <span>{label}</span>
      <input type="number" value={value} min={range[0]} max={range[1]} step={step} onInput={type} onBlur={leave} />
    </label>
  )
}
