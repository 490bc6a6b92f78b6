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
  margin?: number // px at the left that stay visible when the picture is scrolled sideways
  paintMargin?(painter: Painter): void // paints that margin as `paint` does
  paint(painter: Painter): void
  light(painter: Painter, place: Place): void // draws over the painted picture, without repainting it
  hit(x: number, y: number): Place | null
  boxOf(place: Place): Box | null // for scrolling it into view
}
