// The options of the search, and a target to score instead (teacher forcing).
import type { ComponentChildren } from 'preact'
import { t } from '../i18n'
import { modelInfo } from '../state/answers'
import { set, state, type State } from '../state/store'
import { Disclosure } from './disclosure'
import { Menu, NumberField } from './field'

const kBeams = [1, 2, 3, 4, 5, 6, 8, 10]

export function Target() {
  const target = state.target.value
  return (
    <details class="force" open={target !== ''}>
      <summary>{t('force')}</summary>
      <label class="name" for="target">
        {t('force.hint')}
      </label>
      <textarea
        id="target"
        dir="auto"
        rows={2}
        spellcheck={false}
        value={target}
        onInput={(event) => set({ target: (event.target as HTMLTextAreaElement).value, row: -1 })}
      />
      {target !== '' && (
        <button type="button" onClick={() => set({ target: '', row: -1 })}>
          {t('force.clear')}
        </button>
      )}
    </details>
  )
}

const numbers = (list: readonly number[]): (readonly [number, string])[] => list.map((n) => [n, String(n)] as const)

interface Props {
  again?: (() => void) | undefined // asks for another sample in its own way
  children?: ComponentChildren
}

// How the output is searched for, in a word, and behind it the options of beam search or of sampling.
export function Search({ again, children }: Props) {
  const { beam, nbest, sample, temperature, top_k, top_p, seed } = state
  const most = sample.value ? kBeams.at(-1)! : beam.value
  const pickWay = (to: 'search' | 'draw'): void =>
    set({
      sample: to === 'draw',
      nbest: to === 'draw' ? nbest.peek() : Math.min(nbest.peek(), beam.peek()),
      rank: 1,
      row: -1,
    })
  const draw = (change: Partial<State>): void => set({ ...change, rank: 1, row: -1 })
  const isUsual = !sample.value && beam.value === (modelInfo.value?.beam ?? 1) && state.target.value === ''
  const now = sample.value
    ? t('choose.draw')
    : beam.value === 1
      ? t('choose.greedy')
      : t('choose.beam', { beam: beam.value })
  return (
    <Disclosure class="more decoding" name={t('choose.now', { now })} isUsual={isUsual}>
      <div class="fields search">
        <Menu
          label={t('choose')}
          value={sample.value ? 'draw' : 'search'}
          options={
            [
              ['search', t('choose.search')],
              ['draw', t('choose.draw')],
            ] as const
          }
          onPick={pickWay}
          help={t('choose.help')}
        />
        {!sample.value && (
          <Menu
            label={t('beam')}
            value={beam.value}
            options={kBeams.map((n) => [n, n === 1 ? t('beam.greedy') : String(n)] as const)}
            onPick={(n) => set({ beam: n, nbest: Math.min(nbest.peek(), n), rank: 1 })}
            help={t('beam.help')}
          />
        )}
        <Menu
          label={t('nbest')}
          value={Math.min(nbest.value, most)}
          options={numbers(kBeams.filter((n) => n <= most))}
          onPick={(n) => set({ nbest: n, rank: 1 })}
          disabled={most === 1}
          help={t('nbest.help')}
        />
        {sample.value && (
          <>
            <NumberField
              label={t('temperature')}
              value={temperature.value}
              range={[0.01, 100]}
              step="any"
              onPick={(n) => draw({ temperature: n })}
              help={t('temperature.help')}
            />
            <NumberField
              label={t('top_k')}
              value={top_k.value}
              range={[0, 1e6]}
              step={1}
              onPick={(n) => draw({ top_k: n })}
              help={t('top_k.help')}
            />
            <NumberField
              label={t('top_p')}
              value={top_p.value}
              range={[0.01, 1]}
              step="any"
              onPick={(n) => draw({ top_p: n })}
              help={t('top_p.help')}
            />
            <NumberField
              label={t('seed')}
              value={seed.value}
              range={[0, 2 ** 31]}
              step={1}
              onPick={(n) => draw({ seed: n })}
              help={t('seed.help')}
            />
            <button type="button" onClick={() => (draw({ seed: (seed.peek() + 1) % 2 ** 31 }), again?.())}>
              {t('seed.next')}
            </button>
          </>
        )}
        {children}
      </div>
    </Disclosure>
  )
}
