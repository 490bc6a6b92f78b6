// Opens saved records, chosen with a button or dropped on the page; the views show them like a new answer.
import { useEffect, useState } from 'preact/hooks'
import { t } from '../i18n'
import { contentOf } from '../model/file'
import { failure, open, opened, showRecord, type Opened } from '../state/answers'
import { choosePicture } from '../state/picture'
import { state } from '../state/store'
import { Menu } from './field'

async function openFile(file: File): Promise<void> {
  if (file.type.startsWith('image/')) return choosePicture(file, file.name)
  try {
    await open(file.name, await contentOf(file))
  } catch (error) {
    failure.value = {
      code: 'record',
      message: `${file.name}: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

export function OpenButton() {
  const choose = (event: Event): void => {
    const input = event.target as HTMLInputElement
    if (input.files?.[0]) void openFile(input.files[0])
    input.value = '' // the same file may be chosen again
  }
  return (
    <label class="file" title={t('file.hint')}>
      {t('file.open')}
      <input type="file" class="unseen" accept=".json,.jsonl,.gz,.html" onChange={choose} />
    </label>
  )
}

// A menu of the records of the file, and a button that closes it.
export function FileBar({ file }: { file: Opened }) {
  const count = file.records.length
  const name = (i: number): string =>
    `${i + 1}: ${(file.records[i]!.image?.name ?? file.records[i]!.source.text).slice(0, 40)}`
  return (
    <div class="fields search">
      {count > 1 && (
        <Menu
          label={t('file.record', { count })}
          value={Math.min(state.rank.value, count)}
          options={file.records.map((_, i) => [i + 1, name(i)] as const)}
          onPick={showRecord}
        />
      )}
      <button type="button" onClick={() => (opened.value = null)}>
        {t('file.close')}
      </button>
    </div>
  )
}

export function DropPlace() {
  const [over, setOver] = useState(false)
  useEffect(() => {
    const holdsFile = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false
    const drag = (event: DragEvent): void => {
      if (!holdsFile(event)) return
      event.preventDefault()
      setOver(true)
    }
    const leave = (event: DragEvent): void => void (event.relatedTarget === null && setOver(false))
    const drop = (event: DragEvent): void => {
      if (!holdsFile(event)) return
      event.preventDefault()
      setOver(false)
      const file = event.dataTransfer!.files[0]
      if (file) void openFile(file)
    }
    addEventListener('dragover', drag)
    addEventListener('dragleave', leave)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragover', drag)
      removeEventListener('dragleave', leave)
      removeEventListener('drop', drop)
    }
  }, [])
  return over ? <p class="drop">{t('file.drop')}</p> : null
}
