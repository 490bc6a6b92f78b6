import type { Sentence } from '../src/model/record'

export function hash(text: string): number
export function tokenise(text: string): Sentence
