// Starts the page: the state is read from the address, and signals compute the rest.
import { effect } from '@preact/signals'
import { render } from 'preact'
import { keepAsking, loadModels } from './state/asking'
import { forgetLosses } from './state/leave_one_out'
import { keepMemory } from './state/memory'
import { followAddress } from './state/url'
import { language, loadLanguage } from './i18n'
import { App } from './ui/app'

followAddress()
effect(() => {
  document.documentElement.lang = language.value
  void loadLanguage(language.value)
})
keepMemory()
keepAsking()
forgetLosses()
void loadModels()
const start = (): void => render(<App />, document.getElementById('page')!)
if (language.peek() === 'en') start()
else void loadLanguage(language.peek()).finally(start)
