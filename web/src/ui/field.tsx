// A labelled menu and a labelled number.
interface Props<T extends string | number> {
  label: string
  value: T
  options: readonly (readonly [T, string])[]
  onPick: (value: T) => void
  disabled?: boolean
  help?: string | undefined // a tooltip
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

// Incomplete or out-of-range input changes nothing; on blur the field shows the present value again.
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
