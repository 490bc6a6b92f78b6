// The answers that the page shows: the first, to what was asked, and the second, of another model or with edits, for
// comparison. An opened file replaces the first answer until something new is asked. asking.ts makes the requests.
import { batch, computed, signal } from '@preact/signals'
import { ApiError } from '../api/client'
import type { Candidate, ModelInfo } from '../api/types'
import { readRecords } from '../model/file'
import { RecordError, type Answer as Found, type AttentionRecord, type ClassProbability } from '../model/record'
import { formOf, formOfRecord, kFormTraits, taskOf, type Form, type Task } from '../model/task'
import type { TreeNode } from '../model/tree'
import { kUnchanged, set, state } from './store'

export interface Answer {
  model: string
  text: string
  candidates: Candidate[]
  classes: ClassProbability[] // of a classifier, likeliest first
  found: Found[] // in a passage, best first
  record: AttentionRecord | null
  records: (AttentionRecord | null)[]
  tree: TreeNode[]
  warnings: string[] // kinds of signs that the output is no translation
  milliseconds: number
  live: boolean // decoding continues
}

export const kNoAnswer: Answer = {
  model: '',
  text: '',
  candidates: [],
  classes: [],
  found: [],
  record: null,
  records: [],
  tree: [],
  warnings: [],
  milliseconds: 0,
  live: false,
}

export interface Failure {
  code: string
  message: string
}

export const models = signal<ModelInfo[]>([])
export const busy = signal(false)
export const failure = signal<Failure | null>(null)
export const first = signal<Answer | null>(null)
export const second = signal<Answer | null>(null)
export const secondFailure = signal<Failure | null>(null)

export interface Opened {
  name: string
  records: AttentionRecord[]
}
export const opened = signal<Opened | null>(null)

export const modelName = computed(() => state.model.value || models.value[0]?.name || '')
export const modelInfo = computed(() => models.value.find((m) => m.name === modelName.value))
export const task = computed<Task>(() => taskOf(opened.value ? opened.value.records[0]!.task : modelInfo.value?.task))
export const form = computed<Form>(() => (opened.value ? formOfRecord(task.value) : formOf(task.value)))

// Whether there is something to compare the first answer with.
export const isChanged = computed(
  () =>
    state.removed.value.length > 0 ||
    (state.second.value !== '' && (opened.value !== null || state.second.value !== modelName.value)) ||
    state.next.value !== '' ||
    state.prefix.value !== '' ||
    state.edits.value.length > 0,
)

export function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) return { code: error.code, message: error.message }
  if (error instanceof RecordError) return { code: 'record', message: error.message }
  return { code: 'internal', message: String(error) }
}

function answerOfFile({ name, records }: Opened): Answer {
  return { ...kNoAnswer, model: name, record: records[0]!, records }
}

// The text of a record, in the fields of its form.
const shownText = (record: AttentionRecord): { text: string; question: string } => ({
  text: record.source.text,
  question: kFormTraits[formOf(record.task)].hasQuestion ? record.target.text : '',
})

// Shows a file in every view. Edits are removed, because they belong to the answer before.
export async function open(name: string, content: string): Promise<void> {
  try {
    const file = { name, records: await readRecords(content) }
    batch(() => {
      opened.value = file
      first.value = answerOfFile(file)
      failure.value = null
      set({
        ...kUnchanged,
        ...shownText(file.records[0]!),
        target: '',
        second: '',
        rank: 1,
        row: -1,
        layer: 0,
        head: 0,
        how: 'best',
      })
    })
  } catch (error) {
    failure.value = {
      ...failureOf(error),
      message: `${name}: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

export function showRecord(rank: number): void {
  set({ rank, row: -1, ...shownText(opened.peek()!.records[rank - 1]!) })
}
