// The name, the model and the language.
import { kLanguages, language, t, type Language } from '../i18n'
import { filledWith, formOf, kFormTraits } from '../model/task'
import { modelInfo, modelName, models, opened } from '../state/answers'
import { setUsualSearch } from '../state/picture'
import { set, setModel, setText, state } from '../state/store'
import { Menu } from './field'
import { OpenButton } from './open_file'

function pickModel(name: string): void {
  const before = modelInfo.peek()
  const text = state.text.peek()
  opened.value = null
  setModel(name)
  const after = models.peek().find((m) => m.name === name)
  const form = formOf(after?.task)
  if (form !== formOf(before?.task)) set({ second: '', target: '' })
  if (form === 'caption') setUsualSearch()
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
  const info = modelInfo.value
  const attention = info?.attentions
    .map((a) => `${t(`kind.${a.kind}`).toLowerCase()} ${a.layers}×${a.heads}`)
    .join(t('comma'))
  return (
    <header>
      <h1>
        Fovea <span class="tagline">{t('tagline')}</span>
      </h1>
      <div class="fields">
        <Menu
          label={t('model')}
          value={modelName.value}
          options={models.value.map((m) => [m.name, m.name] as const)}
          onPick={pickModel}
        />
        <Menu
          label={t('language')}
          value={language.value}
          options={Object.entries(kLanguages) as [Language, string][]}
          onPick={(lang) => (state.lang.value = lang)}
        />
        <OpenButton />
      </div>
      {info && (
        <p class="faint about" title={t('model.about.help')}>
          {t('model.about', {
            architecture: info.architecture,
            parameters: info.parameters.toLocaleString(language.value),
            attention: attention ?? '',
          })}
        </p>
      )}
    </header>
  )
}
