import type { Answer, ClassProbability, WireRecord } from '../src/model/record'

export interface MockModel {
  info: { name: string; task: string }
}
export const kTaskModels: MockModel[]
export function classifyText(model: MockModel, text: string): { classes: ClassProbability[]; record: WireRecord }
export function findAnswers(
  model: MockModel,
  passage: string,
  question: string,
  nbest: number,
): Answer & { candidates: Answer[]; record: WireRecord }
export function contextOf(turns: readonly string[], most?: number): string
