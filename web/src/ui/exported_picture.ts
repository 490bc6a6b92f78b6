// The picture that an export of the present view saves. Each view sets it when it is drawn.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Grid } from '../model/grid'
import type { Tint } from '../views/colour'
import type { Scene } from '../views/scene'

export interface ExportedPicture {
  title: string
  note: string
  scene: Scene
  tint: Tint | null // for the legend
  grids: Grid[] // for the tables of numbers
  print?: () => { scene: Scene; tint: Tint } // in greys on white; without it the scene itself has no colour of its own
}

export const exportedPicture = signal<ExportedPicture | null>(null)

export function useExportedPicture(made: ExportedPicture | null, depends: unknown[]): void {
  useEffect(() => {
    exportedPicture.value = made
  }, depends)
}
