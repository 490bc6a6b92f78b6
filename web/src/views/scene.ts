// A picture that can be pointed at: it paints itself, highlights a position, and finds the position under a point.
import type { Place } from '../state/store'
import type { Painter } from './painter'

export interface Box {
  x: number
  y: number
  w: number
  h: number
}

export interface Scene {
  width: number
  height: number
  rows: number
  columns: number
  mirror: boolean // columns run from right to left
  // What stays visible when the picture is scrolled: px at the left and at the top, and the parts that are painted there,
  // as `paint` paints them.
  edges?: {
    left: number
    top: number
    paintLeft: (painter: Painter) => void
    paintTop: (painter: Painter) => void
    paintCorner: (painter: Painter) => void
  }
  paint(painter: Painter): void
  light(painter: Painter, place: Place): void // draws over the painted picture, without repainting it
  hit(x: number, y: number): Place | null
  boxOf(place: Place): Box | null // for scrolling it into view
}
