// A picture that can be pointed at: what it paints, what it lights up over that, and which place lies under a point.
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
  margin?: number // px at the left that stay in sight when the picture is scrolled sideways ...
  paintMargin?(painter: Painter): void // ... and what is there, as `paint` paints it
  paint(painter: Painter): void
  light(painter: Painter, place: Place): void // over what is painted, which it does not repaint
  hit(x: number, y: number): Place | null
  boxOf(place: Place): Box | null // to bring it into sight
}
