// The colour scale with its weights.
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../i18n'
import { dark } from '../state/derived'
import type { Tint } from '../views/colour'
import { legend, legendWidth } from '../views/heatmap'
import { inkNow, prepare } from './canvas_view'

interface Props {
  tint: Tint
  masked: boolean
  name?: string
}

export function Legend({ tint, masked, name = t('weight') }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const isDark = dark.value
  const width = legendWidth(name)
  useEffect(() => {
    const painter = prepare(canvas.current!, width, 32, inkNow())
    legend(painter, tint, 0, 2, name)
  }, [tint, isDark, name])
  return (
    <p class="legend">
      <canvas
        ref={canvas}
        style={{ width: `${width}px` }}
        role="img"
        aria-label={`${name}: ${tint.low.toFixed(2)} – ${tint.high.toFixed(2)}`}
      />
      {masked && <span class="masked">{t('masked')}</span>}
    </p>
  )
}
