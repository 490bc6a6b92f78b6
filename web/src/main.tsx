// Starts the page: the state is read from the address, and signals compute the rest.
import { effect } from '@preact/signals'
import { render } from 'preact'
import { keepAsking, loadModels } from './state/asking'
import { forgetLosses } from './state/leave_one_out'
import { dark } from './state/derived'
import { followAddress } from './state/url'
import { language } from './i18n'
import { App } from './ui/app'

const night = matchMedia('(prefers-color-scheme: dark)')
dark.value = night.matches
night.addEventListener('change', () => (dark.value = night.matches))

followAddress()
effect(() => {
  document.documentElement.lang = language.value
})
keepAsking()
forgetLosses()
render(<App />, document.getElementById('page')!)
void loadModels()
