// The name, the model and the language.
import { kLanguages, language, t, type Language } from '../i18n'
import { modelInfo, modelName, models, opened } from '../state/answers'
import { setModel, setText, state } from '../state/store'
import { Menu } from './field'
import { OpenButton } from './open_file'

function pickModel(name: string): void {
  const before = modelInfo.peek()
  const text = state.text.peek()
  opened.value = null
  setModel(name)
  // An example sentence of one model makes no sense to another.
  const after = models.peek().find((m) => m.name === name)
  if (before?.examples.includes(text) && after?.examples[0]) setText(after.examples[0])
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
