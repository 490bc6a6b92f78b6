// A made-up captioner: it says one of two captions, and something else from where its attention was moved.
import { hash, stepsOf, tokenise } from './models.mjs'

const kRows = 6
const kColumns = 8
const kCaptions = ['a dog runs through the snow', 'two children play with a ball on the beach']
const kMoved = 'a red boat near an old house by the sea'
const kKnown = new Set([...kCaptions, kMoved, 'und ein eine the Haus mit auf cat </s> .'].flatMap((c) => c.split(' ')))
const kGrey =
  'data:image/jpeg;base64,/9j/4AAQSkZJRgABAQAAAQABAAD/4gHYSUNDX1BST0ZJTEUAAQEAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAAEAAAAAAABhY3NwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKAAAABRiWFlaAAABPAAAABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAAABZAAAAChiVFJDAAABZAAAAChjcHJ0AAABjAAAADxtbHVjAAAAAAAAAAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1AAADkFhZWiAAAAAAAABimQAAt4UAABjaWFlaIAAAAAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQAAAACZmYAAPKnAAANWQAAE9AAAApbAAAAAAAAAABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbABlACAASQBuAGMALgAgADIAMAAxADb/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////2wBDAVVaWnhpeOuCguv/////////////////////////////////////////////////////////////////////////wAARCAAIAAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAH/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AKAD/9k='

export const kPictureModels = [
  {
    info: {
      name: 'pictures',
      task: 'caption',
      architecture: 'bahdanau',
      parameters: 3456789,
      source_language: null,
      target_language: 'en',
      layers: 1,
      attentions: [{ kind: 'cross', layers: 1, heads: 1, mechanism: 'additive, global, soft' }],
      examples: [],
      beam: 3,
      grid: { rows: kRows, columns: kColumns },
    },
  },
]

function textOf({ image, prefix = [], next = '', edits = [] }, rank) {
  const own = kCaptions[Math.floor(hash(image) * kCaptions.length)].split(' ')
  const forced = [...[prefix].flat(), ...(next ? [next] : [])]
  const from = Math.min(own.length, ...edits.map((e) => e.row))
  const words = own.map((word, i) => (i >= from ? kMoved.split(' ')[i] : word))
  const all = [...forced, ...words.slice(forced.length)].filter((word) => word !== '</s>')
  return all.slice(0, Math.max(1, all.length - rank + 1)).join(' ')
}

// A spot that wanders over the picture from word to word.
function rowOf(text, step, edits) {
  const moved = edits.find((e) => e.weights && e.row === step)
  if (moved) return moved.weights
  const [x, y] = [hash(text) * kColumns, hash(`${text}.`) * kRows]
  const cells = Array.from({ length: kRows * kColumns }, (_, i) =>
    Math.exp(-(((i % kColumns) + 0.5 - x) ** 2 + (Math.floor(i / kColumns) + 0.5 - y) ** 2) / 2),
  )
  const sum = cells.reduce((s, w) => s + w, 0)
  return cells.map((w) => w / sum)
}

export const isKnown = (word) => kKnown.has(word)

export function captionOf(model, body, rank) {
  const { beam = 1, edits = [], alternatives = 5 } = body
  const target = tokenise(textOf(body, rank))
  const steps = stepsOf(target, edits).map((s) => ({ ...s, alternatives: s.alternatives.slice(0, alternatives) }))
  const log_probability = steps.reduce((s, x) => s + x.log_probability, 0)
  const weights = [[target.tokens.map((token, t) => rowOf(token.text, t, edits))]]
  return {
    fovea_record: 1,
    task: 'caption',
    line: 1,
    rank,
    architecture: model.info.architecture,
    search: beam > 1 ? `beam ${beam}` : 'greedy',
    source: { text: '', tokens: [] },
    image: {
      name: 'image',
      width: 320,
      height: 240,
      rows: kRows,
      columns: kColumns,
      data: body.image.startsWith('data:image/jpeg') ? body.image : kGrey,
    },
    target,
    steps,
    score: log_probability / steps.length,
    log_probability,
    ended: true,
    cut: false,
    attentions: [{ ...model.info.attentions[0], scope: 'global', selection: 'soft', weights }],
  }
}
