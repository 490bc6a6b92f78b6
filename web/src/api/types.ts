// The requests and answers of `fovea serve` as the page uses them.
import type { Alternative, Answer, ClassProbability, Kind, Sentence, WireRecord } from '../model/record'
import type { Example } from '../model/task'
import type { TreeNode } from '../model/tree'
import type { Edit } from '../model/whatif'

export interface ModelInfo {
  name: string
  task: string
  labels?: string[] // of a classifier
  beam?: number // of a model that writes, where a request names none
  architecture: string
  parameters: number
  source_language: string | null
  target_language: string | null
  layers: number
  attentions: { kind: Kind; layers: number; heads: number; mechanism: string }[]
  examples: Example[]
}

export interface Options {
  model?: string
  beam?: number
  nbest?: number
  sample?: boolean
  temperature?: number
  top_k?: number
  top_p?: number
  seed?: number
  alternatives?: number
  attention?: boolean | 'compact'
  tree?: boolean
  prefix?: string | string[] // text, or tokens as records write them
  next?: string
  edits?: Edit[]
}

// What is read: a text, the turns of a conversation, or a picture as a data URL.
export type Input = { text: string } | { turns: string[] } | { image: string }

export interface Candidate {
  text: string
  score: number
  log_probability: number
  ended: boolean
  record?: WireRecord
}

// A part of a text that was translated in parts, and its characters [begin, end) in the text.
export interface Part {
  text: string
  begin: number
  end: number
}

export interface Translation {
  text: string
  candidates: Candidate[]
  cut: boolean
  source_tokens: number
  tree?: { nodes: TreeNode[] }
  parts?: Part[]
  warnings?: { kind: string }[]
}

export interface TranslateAnswer {
  translations: Translation[]
  model: string
  milliseconds: number
}

export interface CaptionAnswer {
  captions: Omit<Translation, 'cut' | 'source_tokens'>[]
  model: string
  milliseconds: number
}

export type ChatAnswer = Omit<Translation, 'text'> & { reply: string; model: string; milliseconds: number }

export interface Classification {
  label: string
  probability: number
  classes: ClassProbability[]
  truncated: boolean
  record?: WireRecord
}

export interface ClassifyAnswer {
  classifications: Classification[]
  model: string
  milliseconds: number
}

export interface ReadAnswer {
  answers: (Answer & { candidates: Answer[]; record?: WireRecord })[]
  model: string
  milliseconds: number
}

export interface StartEvent {
  source: Sentence
  model: string
}

// The number of tokens and characters of the output so far that stay valid; later ones are replaced.
export interface ReviseEvent {
  step: number
  end: number
}

export interface TokenEvent {
  step: number
  text: string
  begin: number
  end: number
  mark?: boolean
  starts_word?: boolean
  log_probability: number
  alternatives?: Alternative[]
  cross_mean?: string // the mean over all layers and heads, as a row of the compact form in base64
}
