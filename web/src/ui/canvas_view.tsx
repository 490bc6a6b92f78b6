// Shows a scene: one canvas is painted when the scene changes, and another above it marks what is pointed at, so that
// pointing never repaints cells. The arrow keys move through the cells; the status line describes the position.
import { effect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { dark, pickedRow } from '../state/derived'
import { hover, hovered, set, state, type Place } from '../state/store'
import { kDark, kLight, type Ink } from '../views/colour'
import { CanvasPainter, type Painter } from '../views/painter'
import type { Scene } from '../views/scene'

const kMaxPixels = 1.6e7

export const inkNow = (): Ink => (dark.value ? kDark : kLight)

export function prepare(canvas: HTMLCanvasElement, width: number, height: number, ink: Ink): CanvasPainter {
  const ratio = Math.min(window.devicePixelRatio || 1, Math.sqrt(kMaxPixels / Math.max(1, width * height)))
  const w = Math.ceil(width * ratio)
  const h = Math.ceil(height * ratio)
  const context = canvas.getContext('2d')!
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w
    canvas.height = h
  } else {
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.clearRect(0, 0, w, h)
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  return new CanvasPainter(context, ink, ratio)
}

// The available width; 0 until it is known.
export function useRoom<T extends HTMLElement>(): [{ current: T | null }, number] {
  const ref = useRef<T>(null)
  const [room, setRoom] = useState(0)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const measureRoom = (): void => setRoom(Math.floor(element.clientWidth))
    measureRoom()
    const watch = new ResizeObserver(measureRoom)
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  return [ref, room]
}

export const shownPlace = (): Place => {
  const place = hovered.value
  return place.row >= 0 || place.column >= 0 ? place : { row: pickedRow.value, column: -1 }
}

export const pickRow = (row: number): void => set({ row: state.row.peek() === row ? -1 : row })

// The position that an arrow key leads to; null for other keys.
export function moveBy(key: string, from: Place, scene: Scene): Place | null {
  const { rows, columns, mirror } = scene
  const within = (x: number, most: number): number => Math.min(most - 1, Math.max(0, x))
  const row = rows > 0 ? within(from.row, rows) : -1
  const column = columns > 0 ? within(from.column, columns) : -1
  const aside =
    columns > 0
      ? (by: number) => ({ row, column: within(column + (mirror ? -by : by), columns) })
      : (by: number) => ({ row: within(row + by, rows), column })
  const down = rows > 0 ? (by: number) => ({ row: within(row + by, rows), column }) : aside
  if (key === 'ArrowRight') return aside(1)
  if (key === 'ArrowLeft') return aside(-1)
  if (key === 'ArrowDown') return down(1)
  if (key === 'ArrowUp') return down(-1)
  if (key === 'PageDown') return down(10)
  if (key === 'PageUp') return down(-10)
  if (key === 'Home') return columns > 0 ? { row, column: 0 } : { row: 0, column }
  if (key === 'End') return columns > 0 ? { row, column: columns - 1 } : { row: rows - 1, column }
  return null
}

interface Props {
  scene: Scene
  label: string
  // Maps a position of this picture to one of the shared grid and back; the identity by default.
  toShared?: (place: Place) => Place
  fromShared?: (place: Place) => Place
  small?: boolean // one of many pictures: no tab stop
  onPress?: (place: Place) => void
}

const same = (place: Place): Place => place

interface Edge {
  name: string
  width: number
  height: number
  paint: (painter: Painter) => void
}

// The parts of a scene that stay visible when it is scrolled, each above those before it.
function edgesOf({ edges, width, height }: Scene): Edge[] {
  if (!edges) return []
  const { left, top, paintLeft, paintTop, paintCorner } = edges
  return [
    { name: 'left', width: left, height, paint: paintLeft },
    { name: 'top', width, height: top, paint: paintTop },
    { name: 'corner', width: left, height: top, paint: paintCorner },
  ]
}

export function CanvasView({ scene, label, toShared = same, fromShared = same, small = false, onPress }: Props) {
  const base = useRef<HTMLCanvasElement>(null)
  const over = useRef<HTMLCanvasElement>(null)
  const edges = useRef<(HTMLCanvasElement | null)[]>([])
  const stage = useRef<HTMLDivElement>(null)
  const isDark = dark.value

  useEffect(() => {
    const began = performance.now()
    scene.paint(prepare(base.current!, scene.width, scene.height, inkNow()))
    edgesOf(scene).forEach(({ width, height, paint }, i) => {
      const canvas = edges.current[i]
      if (!canvas) return
      const painter = prepare(canvas, width, height, inkNow())
      painter.rect(0, 0, width, height, { fill: painter.ink.paper })
      paint(painter)
    })
    performance.measure('fovea:paint', { start: began })
  }, [scene, isDark])

  useEffect(
    () =>
      effect(() => {
        const place = fromShared(shownPlace())
        const began = performance.now()
        const painter = prepare(over.current!, scene.width, scene.height, inkNow())
        if (place.row >= 0 || place.column >= 0) scene.light(painter, place)
        performance.measure('fovea:light', { start: began })
      }),
    [scene, fromShared],
  )

  const point = (event: PointerEvent): void => {
    const box = base.current!.getBoundingClientRect()
    const place = scene.hit(event.clientX - box.left, event.clientY - box.top)
    const shared = place ? toShared(place) : null
    hover(shared?.row ?? -1, shared?.column ?? -1)
  }
  const go = (place: Place): void => {
    const shared = toShared(place)
    hover(shared.row, shared.column)
    const box = scene.boxOf(place)
    const pane = stage.current?.parentElement
    if (!box || !pane) return
    const { left, top } = scene.edges ?? { left: 60, top: 0 }
    if (box.y < pane.scrollTop + top) pane.scrollTop = box.y - top
    if (box.y + box.h > pane.scrollTop + pane.clientHeight) pane.scrollTop = box.y + box.h - pane.clientHeight
    if (box.x < pane.scrollLeft + left) pane.scrollLeft = box.x - left
    if (box.x + box.w > pane.scrollLeft + pane.clientWidth - 20) pane.scrollLeft = box.x + box.w - pane.clientWidth + 20
    const seen = stage.current!.getBoundingClientRect().top + box.y
    if (seen < 8 || seen + box.h > innerHeight - 48) window.scrollBy({ top: seen - innerHeight / 2 })
  }
  const key = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      set({ row: -1 })
      hover(-1, -1)
      return
    }
    const from = fromShared(shownPlace())
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      if (onPress) onPress(from)
      else if (toShared(from).row >= 0) pickRow(toShared(from).row)
      return
    }
    const to = moveBy(event.key, from, scene)
    if (!to) return
    event.preventDefault()
    go(to)
  }
  const focus = (): void => {
    if (!stage.current!.matches(':focus-visible')) return
    const { row, column } = fromShared(shownPlace())
    go({ row: scene.rows > 0 ? Math.max(0, row) : -1, column: scene.columns > 0 ? Math.max(0, column) : -1 })
  }
  const press = (event: MouseEvent): void => {
    const box = base.current!.getBoundingClientRect()
    const place = scene.hit(event.clientX - box.left, event.clientY - box.top)
    if (!place) return
    if (onPress) onPress(place)
    else if (toShared(place).row >= 0) pickRow(toShared(place).row)
  }
  const size = { width: `${scene.width}px`, height: `${scene.height}px` }
  const keys = small
    ? {}
    : {
        tabIndex: 0,
        role: 'application' as const,
        'aria-label': label,
        onKeyDown: key,
        onFocus: focus,
        onBlur: () => hover(-1, -1),
      }
  return (
    <div class="pane">
      <div
        class="stage"
        ref={stage}
        style={size}
        {...keys}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => hover(-1, -1)}
        onClick={press}
      >
        <canvas ref={base} style={size} aria-hidden="true" />
        <canvas ref={over} style={size} class="over" aria-hidden="true" />
        {edgesOf(scene).map(({ name, width, height }, i) => (
          <canvas
            ref={(canvas) => void (edges.current[i] = canvas)}
            class={`edge ${name}`}
            style={{ width: `${width}px`, height: `${height}px`, marginBottom: `${-height}px` }}
            aria-hidden="true"
          />
        ))}
      </div>
    </div>
  )
}
