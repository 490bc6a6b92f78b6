// A labelled menu and a labelled number, each with an explanation.
import { Help } from './help'

interface Props<T extends string | number> {
  label: string
  value: T
  options: readonly (readonly [T, string])[]
  onPick: (value: T) => void
  disabled?: boolean
  help?: string | undefined
  quiet?: boolean // its value says enough: the label is for screen readers
}

export function Menu<T extends string | number>({ label, value, options, onPick, disabled, help, quiet }: Props<T>) {
  const pick = (event: Event): void => {
    const at = (event.target as HTMLSelectElement).selectedIndex
    onPick(options[at]![0])
  }
  return (
    <span class="field">
      <label>
        <span class={quiet ? 'unseen' : ''}>{label}</span>
        <select onChange={pick} disabled={disabled}>
          {options.map(([key, name]) => (
            <option key={key} value={key} selected={key === value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {help && <Help term={label} text={help} />}
    </span>
  )
}

interface NumberProps {
  label: string
  value: number
  range: readonly [number, number]
  step: number | 'any'
  onPick: (value: number) => void
  help?: string
}

// Incomplete or out-of-range input changes nothing; on blur the field shows the present value again.
export function NumberField({ label, value, range, step, onPick, help }: NumberProps) {
  const type = (event: Event): void => {
    const field = event.target as HTMLInputElement
    if (field.value !== '' && field.checkValidity()) onPick(field.valueAsNumber)
  }
  const leave = (event: Event): void => void ((event.target as HTMLInputElement).value = String(value))
  return (
    <span class="field">
      <label>
        <span>{label}</span>
        <input type="number" value={value} min={range[0]} max={range[1]} step={step} onInput={type} onBlur={leave} />
      </label>
      {help && <Help term={label} text={help} />}
    </span>
  )
}
