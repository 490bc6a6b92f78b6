// A picture with the light of some attention on it.
import { useEffect, useRef } from 'preact/hooks'
import { lightOf, type Cells } from '../views/light'
import { state } from '../state/store'

interface Props {
  url: string
  alt: string
  cells: Cells | null // null: the picture as it is
}

export function LitPicture({ url, alt, cells }: Props) {
  const over = useRef<HTMLCanvasElement>(null)
  const scale = state.scale.value
  useEffect(() => {
    const canvas = over.current!
    if (!cells) return
    const { width, height, data } = lightOf(cells, scale)
    canvas.width = width
    canvas.height = height
    canvas.getContext('2d')!.putImageData(new ImageData(data, width, height), 0, 0)
  }, [cells, scale])
  return (
    <>
      <img src={url} alt={alt} draggable={false} />
      <canvas ref={over} class={cells ? 'light' : 'light off'} aria-hidden="true" />
    </>
  )
}
