// The name, the model, and what concerns the page as a whole: the tour, the language, light or dark.
import { kLanguages, language, t, type Language } from '../i18n'
import { filledWith, formOf, kFormTraits } from '../model/task'
import { modelInfo, modelName, models, opened } from '../state/answers'
import { dark } from '../state/derived'
import { theme } from '../state/memory'
import { set, setModel, setText, setUsualSearch, state } from '../state/store'
import { Menu } from './field'
import { Help } from './help'
import { OpenButton } from './open_file'

function pickModel(name: string): void {
  const before = modelInfo.peek()
  const text = state.text.peek()
  opened.value = null
  setModel(name)
  const after = models.peek().find((m) => m.name === name)
  const form = formOf(after?.task)
  if (form !== formOf(before?.task)) set({ second: '', target: '' })
  setUsualSearch(after, before)
  // An example of one model makes no sense to another, and neither does a text without a question.
  const wasExample = before?.examples.some((example) => filledWith(example).text === text)
  const lacks = kFormTraits[form].hasQuestion && state.question.peek() === ''
  const empty = kFormTraits[form].hasText && text.trim() === ''
  if ((wasExample || lacks || empty) && after?.examples[0]) {
    const { text: next, question } = filledWith(after.examples[0])
    set({ question })
    setText(next)
  }
}

export function Header() {
  return (
    <header>
      <h1>Fovea</h1>
      <p class="tagline">{t('tagline')}</p>
      <div class="fields">
        <Menu
          label={t('model')}
          value={modelName.value}
          options={models.value.map((m) => [m.name, m.name] as const)}
          onPick={pickModel}
        />
        <Menu
          label={t('language')}
          quiet
          value={language.value}
          options={Object.entries(kLanguages) as [Language, string][]}
          onPick={(lang) => (state.lang.value = lang)}
        />
        <button
          type="button"
          class="icon"
          aria-label={t('theme.dark')}
          title={t('theme.dark')}
          aria-pressed={dark.value}
          onClick={() => (theme.value = dark.peek() ? 'light' : 'dark')}
        >
          {dark.value ? '☾' : '☼'}
        </button>
      </div>
    </header>
  )
}

// What the model is, and what a person needs less often.
export function Footer() {
  const info = modelInfo.value
  const attention = info?.attentions
    .map((a) => t('model.attention', { kind: t(`kind.${a.kind}`), layers: a.layers, heads: a.heads }))
    .join(t('comma'))
  return (
    <footer>
      <OpenButton />
      {info && (
        <p class="faint about">
          {t('model.about', {
            name: info.name,
            architecture: info.architecture,
            parameters: info.parameters.toLocaleString(language.value),
            attention: attention ?? '',
          })}{' '}
          <Help term={t('model')} text={t('model.about.help')} />
        </p>
      )}
    </footer>
  )
}
