// Chooses the attention and its reduction: what matters in sight, the rest behind a button.
import type { ComponentChildren } from 'preact'
import { t } from '../i18n'
import type { Kind } from '../model/record'
import { canRollOut } from '../model/reduce'
import type { Reduce } from '../model/grid'
import { attention, grid, kind, record, view } from '../state/derived'
import { kDefaults, set, state, type Palette, type Scale } from '../state/store'
import { Disclosure } from './disclosure'
import { Menu } from './field'
import { Help } from './help'

function range(from: number, to: number): (readonly [number, string])[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => [from + i, String(from + i)] as const)
}

function Layer({ all }: { all: boolean }) {
  const layers = range(1, attention.value!.layers)
  return (
    <Menu
      label={t('layer')}
      value={all ? state.layer.value : Math.max(1, state.layer.value)}
      options={all ? [[0, t('layer.all')] as const, ...layers] : layers}
      onPick={(layer) => set({ layer })}
      help={t('layer.help')}
    />
  )
}

function More({ children }: { children: ComponentChildren }) {
  const { scale, palette, normalise } = state
  const isUsual =
    !(state.layer.value > 0 && state.how.value !== 'one') &&
    scale.value === kDefaults.scale &&
    palette.value === kDefaults.palette &&
    normalise.value === kDefaults.normalise
  return (
    <Disclosure class="more" name={t('more')} isUsual={isUsual}>
      <div class="fields">
        {children}
        <Menu
          label={t('scale')}
          value={scale.value}
          options={(['linear', 'sqrt', 'log'] as Scale[]).map((s) => [s, t(`scale.${s}`)] as const)}
          onPick={(to) => set({ scale: to })}
          help={t('scale.help')}
        />
        <span class="field">
          <label>
            <input
              type="checkbox"
              checked={normalise.value}
              onChange={(event) => set({ normalise: (event.target as HTMLInputElement).checked })}
            />
            <span>{t('normalise')}</span>
          </label>
          <Help term={t('normalise')} text={t('normalise.help')} />
        </span>
        <Menu
          label={t('palette')}
          value={palette.value}
          options={(['blues', 'greys'] as Palette[]).map((p) => [p, t(`palette.${p}`)] as const)}
          onPick={(to) => set({ palette: to })}
          help={t('palette.help')}
        />
        <p class="faint mechanism">
          {t('mechanism', { mechanism: attention.value?.mechanism ?? '' })}{' '}
          <Help term={t('mechanism.term')} text={t('mechanism.help')} />
        </p>
      </div>
    </Disclosure>
  )
}

export function Lens() {
  const a = attention.value
  const r = record.value
  if (!a || !r) return null
  const reduces = a.layers * a.heads > 1 && view.value !== 'heads'
  const how: Reduce = grid.value?.reduction.best ? 'best' : (grid.value?.reduction.how ?? 'mean')
  const hows: Reduce[] = ['mean', 'max', 'one']
  if (canRollOut(r, kind.value)) hows.push('rollout')
  if (a.best) hows.unshift('best')
  const pickHow = (to: Reduce): void =>
    set(to === 'one' ? { how: to, layer: state.layer.peek() || 1, head: state.head.peek() || 1 } : { how: to, head: 0 })
  const pickKind = (to: Kind): void =>
    set({ kind: to, row: -1, layer: 0, head: 0, how: state.how.peek() === 'one' ? 'best' : state.how.peek() })
  const one = how === 'one'
  return (
    <section class="lens" aria-label={t('lens')}>
      <div class="fields">
        {r.attentions.length > 1 && (
          <Menu
            label={t('attention')}
            value={kind.value}
            options={r.attentions.map((x) => [x.kind, t(`kind.${x.kind}`)] as const)}
            onPick={pickKind}
            help={t('attention.help')}
          />
        )}
        {reduces && (
          <Menu
            label={t('how')}
            value={how}
            options={hows.map((h) => [h, t(`how.${h}`)] as const)}
            onPick={pickHow}
            help={t('how.help')}
          />
        )}
        {reduces && one && a.layers > 1 && <Layer all={false} />}
        {reduces && one && a.heads > 1 && (
          <Menu
            label={t('head')}
            value={Math.max(1, state.head.value)}
            options={range(1, a.heads)}
            onPick={(head) => set({ head })}
          />
        )}
        <Menu
          label={t('units')}
          value={state.words.value ? 'words' : 'pieces'}
          options={(['pieces', 'words'] as const).map((u) => [u, t(`units.${u}`)] as const)}
          onPick={(u) => set({ words: u === 'words', row: -1 })}
          help={t('units.help')}
        />
        <More>
          {reduces &&
            (how === 'mean' || how === 'max' || (how === 'rollout' && kind.value === 'cross')) &&
            a.layers > 1 && <Layer all />}
        </More>
      </div>
    </section>
  )
}
