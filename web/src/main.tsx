// Starts the page: the state is read from the address, and signals compute the rest.
import { effect } from '@preact/signals'
import { render } from 'preact'
import { keepAsking, loadModels } from './state/asking'
import { forgetLosses } from './state/leave_one_out'
import { keepMemory } from './state/memory'
import { followAddress } from './state/url'
import { language } from './i18n'
import { App } from './ui/app'

followAddress()
effect(() => {
  document.documentElement.lang = language.value
})
keepMemory()
keepAsking()
forgetLosses()
render(<App />, document.getElementById('page')!)
void loadModels()
