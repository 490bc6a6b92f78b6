// What a model does, and which form of the page that needs.
export const kTasks = ['sequence', 'summarise', 'dialogue', 'classify', 'answer', 'caption'] as const
export type Task = (typeof kTasks)[number]

export type Form = 'text' | 'chat' | 'classify' | 'answer' | 'caption'
interface TaskForm {
  form: Form
  saved: Form // of a record in a file: the conversation of a saved reply is its source text
}
const kForms: Record<Task, TaskForm> = {
  sequence: { form: 'text', saved: 'text' },
  summarise: { form: 'text', saved: 'text' },
  dialogue: { form: 'chat', saved: 'text' },
  classify: { form: 'classify', saved: 'classify' },
  answer: { form: 'answer', saved: 'answer' },
  caption: { form: 'caption', saved: 'caption' },
}

// A task that is not known, or none, is text to text.
export const taskOf = (name: string | undefined): Task => kTasks.find((task) => task === name) ?? 'sequence'
export const formOf = (task: string | undefined): Form => kForms[taskOf(task)].form
export const formOfRecord = (task: string | undefined): Form => kForms[taskOf(task)].saved

export const kFormTraits: Record<Form, { writes: boolean; hasText: boolean; hasQuestion: boolean }> = {
  text: { writes: true, hasText: true, hasQuestion: false },
  chat: { writes: true, hasText: false, hasQuestion: false },
  classify: { writes: false, hasText: true, hasQuestion: false },
  answer: { writes: false, hasText: true, hasQuestion: true },
  caption: { writes: true, hasText: false, hasQuestion: false },
}

// An input that a model suggests: a text, the turns of a conversation, or a passage with a question.
export type Example = string | string[] | { passage: string; question: string }

export interface Filled {
  text: string
  question: string
  turns: string[]
}
export function filledWith(example: Example | undefined): Filled {
  const none = { text: '', question: '', turns: [] }
  if (example === undefined) return none
  if (typeof example === 'string') return { ...none, text: example }
  if (Array.isArray(example)) return { ...none, turns: example }
  return { ...none, text: example.passage, question: example.question }
}

export const exampleName = (example: Example): string =>
  typeof example === 'string' ? example : Array.isArray(example) ? example.join(' / ') : example.question
