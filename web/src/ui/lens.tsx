// Chooses the attention and its reduction, which is always stated above the pictures.
import { t } from '../i18n'
import type { Kind } from '../model/record'
import { canRollOut } from '../model/reduce'
import type { Reduce } from '../model/grid'
import { attention, grid, kind, record, titleOf } from '../state/derived'
import { set, state, type Palette, type Scale } from '../state/store'
import { Menu } from './field'

function range(from: number, to: number): (readonly [number, string])[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => [from + i, String(from + i)] as const)
}

export function Lens() {
  const a = attention.value
  const r = record.value
  if (!a || !r) return null
  const several = a.layers * a.heads > 1
  const how: Reduce = grid.value?.reduction.how ?? 'mean'
  const hows: Reduce[] = ['mean', 'max', 'one']
  if (canRollOut(r, kind.value)) hows.push('rollout')
  if (a.best) hows.push('best')
  const pickHow = (to: Reduce): void =>
    set(to === 'one' ? { how: to, layer: state.layer.peek() || 1, head: state.head.peek() || 1 } : { how: to, head: 0 })
  const pickKind = (to: Kind): void =>
    set({ kind: to, row: -1, layer: 0, head: 0, how: state.how.peek() === 'one' ? 'mean' : state.how.peek() })
  const one = how === 'one'
  return (
    <section class="lens" aria-label={t('lens')}>
      <h2>
        {grid.value ? titleOf(grid.value) : ''} <span class="faint mechanism">{a.mechanism}</span>
      </h2>
      <div class="fields">
        {r.attentions.length > 1 && (
          <Menu
            label={t('attention')}
            value={kind.value}
            options={r.attentions.map((x) => [x.kind, t(`kind.${x.kind}`)] as const)}
            onPick={pickKind}
          />
        )}
        {several && (
          <Menu
            label={t('how')}
            value={how}
            options={hows.map((h) => [h, t(`how.${h}`)] as const)}
            onPick={pickHow}
            help={t('how.help')}
          />
        )}
        {several && how !== 'best' && !(how === 'rollout' && kind.value !== 'cross') && a.layers > 1 && (
          <Menu
            label={t('layer')}
            value={one ? Math.max(1, state.layer.value) : state.layer.value}
            options={one ? range(1, a.layers) : [[0, t('layer.all')] as const, ...range(1, a.layers)]}
            onPick={(layer) => set({ layer })}
          />
        )}
        {several && one && a.heads > 1 && (
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
        <Menu
          label={t('scale')}
          value={state.scale.value}
          options={(['linear', 'sqrt', 'log'] as Scale[]).map((s) => [s, t(`scale.${s}`)] as const)}
          onPick={(scale) => set({ scale })}
        />
        <Menu
          label={t('palette')}
          value={state.palette.value}
          options={(['blues', 'greys'] as Palette[]).map((p) => [p, p] as const)}
          onPick={(palette) => set({ palette })}
        />
      </div>
    </section>
  )
}
