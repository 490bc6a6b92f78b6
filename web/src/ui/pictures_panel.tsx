// The film strip: the picture once for each word of the caption, lit by the attention of that word.
import { t } from '../i18n'
import { percent } from '../model/grid'
import { shown } from '../model/text'
import { cellsOfRow, lightGrid, record } from '../state/derived'
import { hover, hovered, kNowhere, state } from '../state/store'
import { pickRow } from './canvas_view'
import { LitPicture } from './lit_picture'

const kMaxFrames = 80

export function PicturesPanel() {
  const g = lightGrid.value
  const r = record.value
  if (!g || !r?.image) return null
  const { image } = r
  return (
    <ol class="film">
      {g.rows.slice(0, kMaxFrames).map((label, i) => (
        <li key={i}>
          <button
            type="button"
            aria-pressed={state.row.value === i}
            title={g.notes[i] ? percent(g.notes[i].probability) : ''}
            onPointerEnter={() => hover(i, -1)}
            onFocus={() => hover(i, -1)}
            onPointerLeave={() => (hovered.value = kNowhere)}
            onBlur={() => (hovered.value = kNowhere)}
            onClick={() => pickRow(i)}
          >
            <bdi lang="" class={label.mark ? 'mark' : ''}>
              {shown(label)}
            </bdi>
            <span class="photo">
              <LitPicture url={image.data} alt="" cells={cellsOfRow(g, image, i)} />
            </span>
            {g.columns.length > image.rows * image.columns && (
              <small class="faint">
                {t('caption.no_place', { share: percent(g.weights[(i + 1) * g.columns.length - 1] ?? 0) })}
              </small>
            )}
          </button>
        </li>
      ))}
    </ol>
  )
}
