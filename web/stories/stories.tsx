// Every view by itself, in light and dark, for short and long sentences, left to right and right to left: npm run stories.
// The records are the mock's.
import { render } from 'preact'
import { translate } from '../src/api/client'
import { normaliseRows, type Grid } from '../src/model/grid'
import { pruneLinks } from '../src/model/links'
import { phrasesOf } from '../src/model/phrases'
import { readAll, type AttentionRecord } from '../src/model/record'
import { everyHead, reduce, type ReduceOptions } from '../src/model/reduce'
import { kDark, kLight, largestOf, weightTint, type Tint } from '../src/views/colour'
import { flow } from '../src/views/flow'
import { headsSheet } from '../src/views/heads'
import { heatmap } from '../src/views/heatmap'
import type { Scene } from '../src/views/scene'
import { SvgPainter } from '../src/views/painter'
import { stepsSheet } from '../src/views/steps'
import { transportScene } from '../src/views/transport'

const kRoom = 620 // px
const kSixty =
  'the old film that we saw last night in the small cinema near the river was not as good as everyone had said , ' +
  'because the story was dull and the actors were tedious , but the music was wonderful and the last scene , with the ' +
  'boat and the snow , was so moving that we forgot the boring first hour'
const kTexts: [name: string, model: string, text: string][] = [
  ['4 words', 'en-de', 'a man is reading'],
  ['20 words', 'en-de', kSixty.split(' ').slice(0, 20).join(' ')],
  ['62 words', 'en-de', kSixty],
  ['Chinese', 'zh-en', '今天天气很好'],
  ['Arabic', 'ar-en', 'القطة تجلس على السجادة'],
  ['300 words', 'large', '300'],
]

const kMean: ReduceOptions = { kind: 'cross', how: 'mean', layer: 0, head: 0, words: false }
const kNames = { rows: 'output', columns: 'source' }
const tintOf = (grids: Grid[], dark: boolean): Tint => weightTint('blues', 'linear', largestOf(grids), dark)
const nameOf = (g: Grid): string => `${g.reduction.layer}.${g.reduction.head}`

interface Story {
  name: string
  draw: (record: AttentionRecord, grid: Grid, dark: boolean) => Scene
}
const kStories: Story[] = [
  { name: 'heat map', draw: (_, g, dark) => heatmap(g, kRoom, tintOf([g], dark), kNames) },
  { name: 'heat map, fitted', draw: (_, g, dark) => heatmap(g, kRoom, tintOf([g], dark), kNames, 0) },
  {
    name: 'heat map, each row to its maximum',
    draw: (_, g, dark) => heatmap(normaliseRows(g), kRoom, tintOf([normaliseRows(g)], dark), kNames),
  },
  { name: 'flow', draw: (_, g) => flow(g, pruneLinks(g, 0.2), kRoom) },
  {
    name: 'flow by phrases',
    draw: (_, g) => {
      const { grid } = phrasesOf(g)
      return flow(grid, pruneLinks(grid, 0.3), kRoom)
    },
  },
  { name: 'attention over time', draw: (_, g) => transportScene(g, kRoom) },
  {
    name: 'heads',
    draw: (record, g, dark) => {
      const all = everyHead(record, 'cross', false)
      return headsSheet(all.length > 0 ? all : [g], record.attentions[0]!.heads, tintOf(all, dark), nameOf)
    },
  },
  { name: 'steps', draw: (_, g) => stepsSheet(g, kRoom, 'linear', Math.min(2, g.rows.length - 1)) },
]

// A scene as SVG, painted once and with a position marked, as under the pointer.
function Picture({ scene, dark, lit }: { scene: Scene; dark: boolean; lit: boolean }) {
  const painter = new SvgPainter(dark ? kDark : kLight)
  scene.paint(painter)
  if (lit) scene.light(painter, { row: scene.rows > 1 ? 1 : 0, column: -1 })
  const svg = painter.finish(scene.width, scene.height, '')
  return <div style={{ maxHeight: '480px', overflow: 'auto' }} dangerouslySetInnerHTML={{ __html: svg }} />
}

async function main(): Promise<void> {
  const place = document.getElementById('stories')!
  const wanted = new URLSearchParams(location.search).get('only')
  const shown: preact.JSX.Element[] = []
  for (const [name, model, text] of kTexts) {
    const options = { model, attention: 'compact', alternatives: 5 } as const
    const { translations } = await translate({ text }, options, new AbortController().signal)
    const [record] = await readAll([translations[0]!.candidates[0]!.record!])
    const grid = reduce(record!, kMean)!
    for (const story of kStories) {
      if (wanted && story.name !== wanted) continue
      if (story.name === 'attention over time' && grid.rows.length > 160) continue
      shown.push(
        <section>
          <h2>
            {story.name}, {name}
          </h2>
          <div style={{ display: 'flex', flexWrap: 'wrap', gap: '16px' }}>
            {[false, true].map((dark) => {
              const scene = story.draw(record!, grid, dark)
              return [false, true].map((lit) => <Picture scene={scene} dark={dark} lit={lit} />)
            })}
          </div>
        </section>,
      )
    }
    render(<>{shown}</>, place)
  }
  place.dataset.done = String(shown.length)
}
void main()
