// What the page and the worker with the engine say to each other.

export interface Question {
  id: number
  method: string
  path: string
  body: string
}
export type ToWorker = { base: string } | Question | { cancel: number }

export type FromWorker =
  | { done: number; all: number } // bytes of engine and models that have arrived
  | { ready: true }
  | { failed: string }
  | { id: number; status: number; type: string } // an answer begins
  | { id: number; part: Uint8Array<ArrayBuffer> }
  | { id: number; end: true }
