// A picture and its caption. Pointing at a word lights up where the model looked; a selected word's attention can be
// moved by hand on the picture, and the caption is decoded again from there.
import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { t } from '../i18n'
import type { Grid } from '../model/grid'
import type { RecordImage } from '../model/record'
import { directionOf, isolated, shown } from '../model/text'
import { pathBefore, prefixBefore, setRow, type Edit } from '../model/whatif'
import { first, opened, secondFailure } from '../state/answers'
import { cellsOfRow, lightGrid, otherLightGrid, otherRecord, record } from '../state/derived'
import { choosePicture, picture } from '../state/picture'
import { hover, hovered, kNowhere, set, state } from '../state/store'
import { spotAt, type Cells } from '../views/light'
import { answerStatus } from './answer_status'
import { Candidates } from './ask'
import { pickRow } from './canvas_view'
import { LitPicture } from './lit_picture'
import { FileBar } from './open_file'
import { Search } from './search'
import { Player } from './player'

const isRow = (edit: Edit, step: number): boolean => edit.kind === 'cross' && edit.row === step && !edit.off

// Replaces the attention of a step; the words before it stay as they are.
function steer(step: number, weights: number[]): void {
  const target = record.peek()!.target
  const edits = setRow(state.edits.peek(), { kind: 'cross', layer: null, head: null, row: step, weights })
  const from = Math.min(...edits.flatMap((e) => (e.row === null ? [] : [e.row])))
  set({ edits, next: '', prefix: prefixBefore(target, from), path: pathBefore(target, from) })
}

function release(step: number): void {
  const edits = state.edits.peek().filter((e) => !isRow(e, step))
  set(edits.length > 0 ? { edits } : { edits, prefix: '', path: [] })
}

const kTall = 'min(52vh, 440px)' // the height of a picture that is not wide

interface StageProps {
  image: RecordImage | null // null while there is no answer
  url: string
  ratio: number // of width to height
  name: string
  lit: Cells | null
  step: number // of the selected word; -1 for none
  word: string
}

// The large picture.
function Stage({ image, url, ratio, name, lit, step, word }: StageProps) {
  const stage = useRef<HTMLDivElement>(null)
  const dragging = useRef(false)
  const place = useRef({ x: 0.5, y: 0.5 })
  const cells = image && lightGrid.value ? cellsOfRow(lightGrid.value, image, 0) : null
  const canSteer = step >= 0 && cells !== null && opened.value === null
  const own = state.edits.value.find((e) => isRow(e, step))
  const move = (x: number, y: number): void => {
    place.current = { x: Math.min(1, Math.max(0, x)), y: Math.min(1, Math.max(0, y)) }
    steer(step, spotAt(place.current.x, place.current.y, cells!))
  }
  const drag = (event: PointerEvent): void => {
    if (!dragging.current) return
    const box = stage.current!.getBoundingClientRect()
    move((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height)
  }
  const begin = (event: PointerEvent): void => {
    if (!canSteer || event.button !== 0) return
    dragging.current = true
    stage.current!.setPointerCapture(event.pointerId)
    drag(event)
  }
  const key = (event: KeyboardEvent): void => {
    if (!canSteer) return
    if (event.key === 'Escape' || event.key === 'Delete') return release(step)
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Enter: [0, 0] }[event.key]
    if (!by) return
    event.preventDefault()
    if (!own) {
      const from = heaviestCell(lit)
      if (from) place.current = from
    }
    move(place.current.x + by[0]! / image!.columns, place.current.y + by[1]! / image!.rows)
  }
  return (
    <>
      <div
        ref={stage}
        class={canSteer ? 'photo large steered' : 'photo large'}
        style={{ aspectRatio: String(ratio), width: `calc(${kTall} * ${ratio})` }}
        {...(canSteer && {
          tabIndex: 0,
          role: 'application',
          'aria-roledescription': t('caption.steer.role'),
          'aria-label': t('caption.steer.hint', { word: isolated(word) }),
        })}
        onPointerDown={begin}
        onPointerMove={drag}
        onPointerUp={() => (dragging.current = false)}
        onPointerCancel={() => (dragging.current = false)}
        onKeyDown={key}
      >
        <LitPicture url={url} alt={name} cells={lit} />
      </div>
      {image && !opened.value && (
        <p class="faint hint">
          {canSteer ? t('caption.steer.hint', { word: isolated(word) }) : t('caption.hint')}{' '}
          {own && (
            <button type="button" onClick={() => release(step)}>
              {t('caption.steer.undo')}
            </button>
          )}
        </p>
      )}
    </>
  )
}

function heaviestCell(cells: Cells | null): { x: number; y: number } | null {
  if (!cells) return null
  const { rows, columns, weights } = cells
  let best = 0
  for (let i = 1; i < rows * columns; ++i) if ((weights[i] || 0) > (weights[best] || 0)) best = i
  return { x: ((best % columns) + 0.5) / columns, y: (Math.floor(best / columns) + 0.5) / rows }
}

interface WordsProps {
  grid: Grid
  id: string
  lit: number // the row that is lit
  point: (row: number) => void
  press?: (row: number) => void
  later?: number // words from that one on are not written yet
}

// The words of a caption as buttons: one tab stop, with arrow keys between the words.
function Words({ grid, id, lit, point, press, later = Infinity }: WordsProps) {
  const direction = directionOf(grid.rows)
  const key = (event: KeyboardEvent): void => {
    const all = [...(event.currentTarget as HTMLElement).querySelectorAll('button')]
    const from = all.indexOf(event.target as HTMLButtonElement)
    const by = { ArrowRight: direction === 'rtl' ? -1 : 1, ArrowLeft: direction === 'rtl' ? 1 : -1 }[event.key]
    const to = by ? from + by : { Home: 0, End: all.length - 1 }[event.key]
    if (event.key === 'Escape') return set({ row: -1 })
    if (to === undefined || !all[to]) return
    event.preventDefault()
    all[to].focus()
  }
  return (
    <p class="tokens caption" dir={direction} lang="" role="group" aria-labelledby={id} onKeyDown={key}>
      {grid.rows.map((label, i) => (
        <>
          {label.spaceBefore && ' '}
          <button
            type="button"
            class={`token${label.mark ? ' mark' : ''}${i === lit ? ' lit' : ''}${i > later ? ' later' : ''}`}
            tabIndex={i === Math.max(0, Math.min(lit, grid.rows.length - 1)) ? 0 : -1}
            {...(press && { 'aria-pressed': state.row.value === i })}
            onPointerEnter={() => point(i)}
            onPointerLeave={() => point(-1)}
            onFocus={() => point(i)}
            onBlur={() => point(-1)}
            onClick={() => press?.(i)}
          >
            {shown(label)}
          </button>
        </>
      ))}
    </p>
  )
}

function Choose({ again }: { again: boolean }) {
  const choose = (event: Event): void => {
    const input = event.target as HTMLInputElement
    const file = input.files?.[0]
    if (file) void choosePicture(file, file.name)
    input.value = ''
  }
  return (
    <p class="buttons choose">
      {again && (
        <label class="file">
          {t('caption.other')}
          <input type="file" class="unseen" accept="image/*" onChange={choose} />
        </label>
      )}
      <label class="file camera">
        {t('caption.camera')}
        <input type="file" class="unseen" accept="image/*" capture="environment" onChange={choose} />
      </label>
      {again && <span class="faint">{t('caption.drop')}</span>}
    </p>
  )
}

function usePaste(): void {
  useEffect(() => {
    const paste = (event: ClipboardEvent): void => {
      const file = [...(event.clipboardData?.files ?? [])].find((f) => f.type.startsWith('image/'))
      if (!file) return
      event.preventDefault()
      void choosePicture(file, file.name)
    }
    addEventListener('paste', paste)
    return () => removeEventListener('paste', paste)
  }, [])
}

export function Caption() {
  usePaste()
  const other = useSignal(-1)
  const playing = useSignal(false)
  const g = lightGrid.value
  const og = otherLightGrid.value
  const r = record.value
  const image = r?.image ?? null
  const selected = g && state.row.value < g.rows.length ? state.row.value : -1
  const row = g && hovered.value.row >= 0 && hovered.value.row < g.rows.length ? hovered.value.row : selected
  const step = g && selected >= 0 ? g.firstToken[selected]! : -1
  const own = state.edits.value.find((e) => isRow(e, step))
  // A word that is pointed at, of either caption; else the attention that was moved; else the selected word.
  const lit = useMemo((): Cells | null => {
    if (!image || !g) return null
    if (og && other.value >= 0 && other.value < og.rows.length) return cellsOfRow(og, image, other.value)
    if (row === selected && own?.weights)
      return { rows: image.rows, columns: image.columns, weights: Float32Array.from(own.weights) }
    return row >= 0 ? cellsOfRow(g, image, row) : null
  }, [image, g, og, other.value, row, selected, own])
  const answer = first.value
  const file = opened.value
  const url = image?.data ?? (file ? undefined : picture.value?.url)
  const sized = image ?? picture.value
  const name = image?.name ?? picture.value?.name ?? ''
  const status = answerStatus('waiting', answer)
  return (
    <div class="ask caption">
      <section class="box" aria-labelledby="picture-name">
        <p class="name" id="picture-name">
          {t('caption.picture')}
        </p>
        {url ? (
          <Stage
            image={image}
            url={url}
            ratio={sized ? sized.width / sized.height : 1}
            name={t('caption.alt', { name, caption: r?.target.text ?? '' })}
            lit={lit}
            step={step}
            word={selected >= 0 ? shown(g!.rows[selected]!) : ''}
          />
        ) : (
          <label class="photo nothing">
            <span>{t('caption.start')}</span>
            <input
              type="file"
              class="unseen"
              accept="image/*"
              aria-label={t('caption.choose')}
              onChange={(event) => {
                const chosen = (event.target as HTMLInputElement).files?.[0]
                if (chosen) void choosePicture(chosen, chosen.name)
              }}
            />
          </label>
        )}
        {!file && <Choose again={url !== undefined} />}
      </section>
      <section class="box" aria-labelledby="output-name">
        <p class="name">
          <span id="output-name">{t('caption.caption')}</span>
          <span class="faint status">{status}</span>
        </p>
        <output class="unseen">{r?.target.text ?? ''}</output>
        {g && (
          <>
            <Words
              grid={g}
              id="output-name"
              lit={other.value >= 0 ? -1 : row}
              point={(i) => (i >= 0 ? hover(i, -1) : (hovered.value = kNowhere))}
              press={pickRow}
              {...(playing.value && { later: state.row.value })}
            />
            <Player steps={g.rows.length} onPlay={(now) => (playing.value = now)} />
          </>
        )}
        {og && otherRecord.value && !secondFailure.value && (
          <div class="changed">
            <p class="name after" id="other-name">
              {t('caption.changed')}
            </p>
            <Words grid={og} id="other-name" lit={other.value} point={(i) => (other.value = i)} />
          </div>
        )}
        {secondFailure.value && <p class="note">{secondFailure.value.message}</p>}
        {r && !r.ended && <p class="note">{t('unended')}</p>}
        {!file && <Candidates pick={(rank) => set({ rank, row: -1 })} />}
        {file ? <FileBar file={file} /> : <Search />}
      </section>
    </div>
  )
}
