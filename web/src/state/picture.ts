// The picture that a captioner describes. It is too large for the address and lasts as long as the page.
import { batch, signal } from '@preact/signals'
import { t } from '../i18n'
import { taskOf } from '../model/task'
import { failure, first, models, modelInfo, opened } from './answers'
import { kUnchanged, set, setModel, setUsualSearch } from './store'

const kLongest = 1024 // pixels of the longer side that are sent
const kSmallFile = 500_000 // bytes; a small file of a known type is sent as it is
const kKnown = ['image/jpeg', 'image/png', 'image/webp']
const kQuality = 0.9

export interface Picture {
  name: string
  url: string // a data URL of what is sent
  width: number
  height: number
}
export const picture = signal<Picture | null>(null)

function urlOf(blob: Blob): Promise<string> {
  return new Promise((done, fail) => {
    const reader = new FileReader()
    reader.onload = () => done(reader.result as string)
    reader.onerror = () => fail(new Error('read'))
    reader.readAsDataURL(blob)
  })
}

// Draws a picture anew, upright, on white, at most kLongest pixels long.
async function shrink(bitmap: ImageBitmap): Promise<Blob> {
  const part = Math.min(1, kLongest / Math.max(bitmap.width, bitmap.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(bitmap.width * part))
  canvas.height = Math.max(1, Math.round(bitmap.height * part))
  const context = canvas.getContext('2d')!
  context.fillStyle = '#ffffff'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.imageSmoothingQuality = 'high'
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error('jpeg'))), 'image/jpeg', kQuality),
  )
}

async function read(file: Blob, name: string): Promise<Picture> {
  const bitmap = await createImageBitmap(file)
  const { width, height } = bitmap
  const small = Math.max(width, height) <= kLongest && file.size <= kSmallFile && kKnown.includes(file.type)
  const url = await urlOf(small ? file : await shrink(bitmap))
  bitmap.close()
  return { name, url, width, height }
}

// Describes a picture; by another model if the selected one does not take pictures.
export async function choosePicture(file: Blob, name: string): Promise<void> {
  const captioner = models.peek().find((m) => m.task === 'caption')
  if (!captioner) {
    failure.value = { code: 'picture', message: t('caption.none') }
    return
  }
  try {
    const chosen = await read(file, name)
    batch(() => {
      const before = modelInfo.peek()
      if (taskOf(before?.task) !== 'caption') {
        setModel(captioner.name)
        setUsualSearch(captioner, before)
      }
      opened.value = null
      first.value = null
      failure.value = null
      picture.value = chosen
      set({ ...kUnchanged, rank: 1, row: -1 })
    })
  } catch {
    failure.value = { code: 'picture', message: t('caption.unreadable', { name }) }
  }
}
