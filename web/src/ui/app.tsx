// The page from top to bottom: input and output, both sentences, the chosen view, and beside it the active step.
import { t } from '../i18n'
import { failure, first } from '../state/answers'
import { grid, record } from '../state/derived'
import { state, type View } from '../state/store'
import { Ask } from './ask'
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
}

function Look() {
  const view = state.view.value
  const Panel = kPanels[view]
  if (!record.value) return null
  return (
    <>
      <Lens />
      <Pair />
      <WhatIf />
      <div class="views">
        <section class="main" aria-label={t('views')}>
          <Tabs />
          {view !== 'tree' && <StatusLine />}
          <div role="tabpanel" id="panel" aria-labelledby={`tab-${view}`} tabIndex={-1}>
            {grid.value || view === 'tree' ? <Panel /> : <p class="faint">{t('empty.attention')}</p>}
          </div>
          <ExportBar />
        </section>
        <Inspector />
      </div>
    </>
  )
}

export function App() {
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
        <Ask />
        {failure.value && <Failure failure={failure.value} />}
        {first.value ? <Look /> : <p class="faint">{state.text.value.trim() === '' ? t('empty') : t('waiting')}</p>}
      </main>
    </>
  )
}
