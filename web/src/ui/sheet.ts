// What the view on the screen would be as one picture, to be saved: each view says so when it is drawn.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Grid } from '../model/grid'
import type { Tint } from '../views/colour'
import type { Scene } from '../views/scene'

export interface Sheet {
  title: string
  note: string
  scene: Scene
  tint: Tint | null // its legend
  grids: Grid[] // the numbers
}

export const sheet = signal<Sheet | null>(null)

export function useSheet(made: Sheet | null, depends: unknown[]): void {
  useEffect(() => {
    sheet.value = made
  }, depends)
}
