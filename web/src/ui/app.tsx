// The page from top to bottom: the form that the model's task needs, the chosen view, and beside it the active step. On a
// narrow screen the settings come after the picture.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { t, type Key } from '../i18n'
import type { Axis } from '../model/record'
import type { Form } from '../model/task'
import { failure, first, form } from '../state/answers'
import { attention, dark, grid, isWritten, record, sideName, titleOf, view } from '../state/derived'
import { isAsked } from '../state/asking'
import { narrow } from '../state/screen'
import { state, type View } from '../state/store'
import { Answer, chosenNow } from './answer'
import { Ask } from './ask'
import { Caption } from './caption'
import { Chat } from './chat'
import { Classify, Highlights } from './classify'
import { ComparePanel } from './compare_panel'
import { DiagnosticsPanel } from './diagnostics_panel'
import { ExportBar } from './export'
import { Failure } from './failure'
import { FlowPanel } from './flow_panel'
import { Footer, Header } from './header'
import { HeadsPanel } from './heads_panel'
import { HeatmapPanel } from './heatmap_panel'
import { Inspector } from './inspector'
import { Help } from './help'
import { besideMap, Introduction, isIntroducing, Lede } from './introduction'
import { Lens } from './lens'
import { DropPlace } from './open_file'
import { Pair } from './pair'
import { isSourceShown } from './source_box'
import type { Side } from './tokens'
import { PicturesPanel } from './pictures_panel'
import { StatusLine } from './status_line'
import { StepsPanel } from './steps_panel'
import { Tabs } from './tabs'
import { TreePanel } from './tree_panel'
import { WhatIf } from './whatif'

const kPanels: Record<View, () => preact.JSX.Element | null> = {
  heatmap: HeatmapPanel,
  flow: FlowPanel,
  heads: HeadsPanel,
  steps: StepsPanel,
  tree: TreePanel,
  compare: ComparePanel,
  diagnostics: DiagnosticsPanel,
  pictures: PicturesPanel,
}

const kBoth: readonly Side[] = ['column', 'row']
// The source field and the output show their words themselves, except words that are neither.
function besideText(): readonly Side[] {
  const g = grid.value
  if (first.value?.live || !g) return []
  const isColumnShown = isSourceShown(g, record.value)
  const isRowShown = g.rowSide === 'target' || (g.rowSide === 'source' && isColumnShown)
  return kBoth.filter((side) => !(side === 'column' ? isColumnShown : isRowShown))
}

interface FormParts {
  Fields: () => preact.JSX.Element
  empty: Key | null // said while nothing is asked
  Rows?: () => preact.JSX.Element | null // shows rows that are no tokens, in place of the two texts
  sides: () => readonly Side[] // the sentences of the grid that the form does not show
  marked?: () => { begin: number; end: number } | undefined // in the source
}
const kForms: Record<Form, FormParts> = {
  text: { Fields: Ask, empty: 'empty', sides: besideText },
  chat: { Fields: Chat, empty: null, sides: () => kBoth },
  classify: { Fields: Classify, empty: 'empty', Rows: Highlights, sides: () => kBoth },
  answer: { Fields: Answer, empty: 'empty.answer', sides: () => kBoth, marked: chosenNow },
  caption: { Fields: Caption, empty: null, sides: () => [] },
}

function Texts() {
  const { Rows, marked, sides } = kForms[form.value]
  const named = (attention.value?.rowLabels.length ?? 0) > 0
  return (
    <>
      {Rows && <Rows />}
      {!(Rows && named) && <Pair marked={marked?.()} sides={sides()} />}
    </>
  )
}

// What the view shows, and in one sentence how to read it.
function Title() {
  const g = grid.value
  const chosen = view.value
  const name = (axis: Axis | undefined): string => (axis ? sideName(axis).toLowerCase() : '')
  const named = (attention.value?.rowLabels.length ?? 0) > 0
  const ofGrid = g && chosen !== 'heads' && chosen !== 'tree'
  const says = t(chosen === 'heatmap' && named ? 'about.heatmap.named' : `about.${chosen}`, {
    rows: name(g?.rowSide),
    columns: name(g?.columnSide),
    stronger: t(dark.value ? 'brighter' : 'darker'),
  })
  return (
    <div class="about-view">
      <h2>
        {ofGrid ? titleOf(g) : t(`view.${chosen}`)}
        {ofGrid && <Help term={t('title.term')} text={t('title.help')} />}
      </h2>
      {(chosen !== 'heatmap' || narrow.value || !isIntroducing.value || !besideMap.value) && <p>{says}</p>}
    </div>
  )
}

function Look() {
  const chosen = view.value
  const Panel = kPanels[chosen]
  if (!record.value) return null
  const isShown = grid.value !== null || chosen === 'tree'
  const wide = !isWritten.value || chosen === 'heads'
  return (
    <div class={failure.value ? 'look stale' : 'look'}>
      <Texts />
      {isWritten.value && <WhatIf />}
      <div class={wide ? 'views alone' : 'views'}>
        <section class="main" aria-label={t('views')}>
          <Tabs />
          {!narrow.value && <Lens />}
          <div role="tabpanel" id="panel" aria-labelledby={`tab-${chosen}`} tabIndex={-1}>
            <Title />
            {chosen !== 'tree' && <StatusLine />}
            {isShown ? <Panel /> : <p class="faint">{t('empty.attention')}</p>}
            {chosen === 'heatmap' && narrow.value && <Introduction />}
          </div>
          {narrow.value && <Lens />}
          <ExportBar />
        </section>
        {!wide && <Inspector />}
      </div>
    </div>
  )
}

// The tour is loaded when it is opened, or when the browser is idle, so that it works without the server.
const tour = signal<(() => preact.JSX.Element) | null>(null)
const loadTour = (): void => void import('./tour').then(({ Tour }) => (tour.value = Tour))
function TourLater() {
  useEffect(loadTour, [])
  const Loaded = tour.value
  return Loaded && <Loaded />
}

export function App() {
  useEffect(() => {
    if (!first.value) return
    // Safari has no idle callbacks.
    if ('requestIdleCallback' in window) requestIdleCallback(loadTour)
    else setTimeout(loadTour, 1000)
  }, [first.value === null])

  const { Fields, empty } = kForms[form.value]
  return (
    <>
      {state.tour.value === 0 && (
        <a
          class="skip"
          href="#panel"
          onClick={(event) => (event.preventDefault(), document.getElementById('panel')?.focus())}
        >
          {t('skip')}
        </a>
      )}
      <Header />
      <DropPlace />
      <main>
        {state.tour.value > 0 ? (
          <TourLater />
        ) : (
          <>
            {!narrow.value && <Lede />}
            <div class={failure.value ? 'stale' : ''}>
              <Fields />
            </div>
            {failure.value && <Failure failure={failure.value} />}
            {first.value ? <Look /> : empty && <p class="faint">{isAsked() ? t('waiting') : t(empty)}</p>}
          </>
        )}
        {narrow.value && state.tour.value === 0 && <Lede />}
      </main>
      <Footer />
    </>
  )
}
