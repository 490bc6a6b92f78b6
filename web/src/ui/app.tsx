// The page from top to bottom: the form that the model's task needs, the texts, the chosen view, and beside it the active
// step.
import { t, type Key } from '../i18n'
import type { Form } from '../model/task'
import { failure, first, form } from '../state/answers'
import { attention, grid, isWritten, record, view } from '../state/derived'
import { isAsked } from '../state/asking'
import type { View } from '../state/store'
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
import { Header } from './header'
import { HeadsPanel } from './heads_panel'
import { HeatmapPanel } from './heatmap_panel'
import { Inspector } from './inspector'
import { Lens } from './lens'
import { DropPlace } from './open_file'
import { Pair } from './pair'
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

interface FormParts {
  Fields: () => preact.JSX.Element
  empty: Key | null // said while nothing is asked
  Rows?: () => preact.JSX.Element | null // shows rows that are no tokens, in place of the two texts
  isPair?: false // the form itself shows the two sides
  marked?: () => { begin: number; end: number } | undefined // in the source
}
const kForms: Record<Form, FormParts> = {
  text: { Fields: Ask, empty: 'empty' },
  chat: { Fields: Chat, empty: null },
  classify: { Fields: Classify, empty: 'empty', Rows: Highlights },
  answer: { Fields: Answer, empty: 'empty.answer', marked: chosenNow },
  caption: { Fields: Caption, empty: null, isPair: false },
}

function Texts() {
  const { Rows, marked, isPair } = kForms[form.value]
  const named = (attention.value?.rowLabels.length ?? 0) > 0
  return (
    <>
      {Rows && <Rows />}
      <Lens />
      {isPair !== false && !(Rows && named) && <Pair marked={marked?.()} />}
    </>
  )
}

function Look() {
  const chosen = view.value
  const Panel = kPanels[chosen]
  if (!record.value) return null
  return (
    <>
      <Texts />
      {isWritten.value && <WhatIf />}
      <div class={isWritten.value ? 'views' : 'views alone'}>
        <section class="main" aria-label={t('views')}>
          <Tabs />
          {chosen !== 'tree' && <StatusLine />}
          <div role="tabpanel" id="panel" aria-labelledby={`tab-${chosen}`} tabIndex={-1}>
            {grid.value || chosen === 'tree' ? <Panel /> : <p class="faint">{t('empty.attention')}</p>}
          </div>
          <ExportBar />
        </section>
        {isWritten.value && <Inspector />}
      </div>
    </>
  )
}

export function App() {
  const { Fields, empty } = kForms[form.value]
  return (
    <>
      <a
        class="skip"
        href="#panel"
        onClick={(event) => (event.preventDefault(), document.getElementById('panel')?.focus())}
      >
        {t('skip')}
      </a>
      <Header />
      <DropPlace />
      <main>
        <Fields />
        {failure.value && <Failure failure={failure.value} />}
        {first.value ? <Look /> : empty && <p class="faint">{isAsked() ? t('waiting') : t(empty)}</p>}
      </main>
    </>
  )
}
