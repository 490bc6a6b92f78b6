// The conversation: its turns, and the replies with what they attended to.
import { modelName, type Answer } from './answers'
import { setTurns, state } from './store'

// By the model and all turns up to the reply.
const replies = new Map<string, Answer>()
const kMaxReplies = 200
const keyOf = (turns: readonly string[]): string => JSON.stringify([modelName.peek(), ...turns])

export const replyTo = (turns: readonly string[]): Answer | undefined => replies.get(keyOf(turns))
export function keepReply(turns: readonly string[], answer: Answer): void {
  if (replies.size >= kMaxReplies) replies.clear()
  replies.set(keyOf(turns), answer)
}

// The turn of the reply whose attention is shown; one past the last turn while the model's is due. Even turns are the
// user's.
export function shownReply(turns: readonly string[], wanted: number): number {
  if (turns.length % 2 === 1) return turns.length
  return wanted >= 0 && wanted < turns.length && wanted % 2 === 1 ? wanted : turns.length - 1
}

export function say(text: string): void {
  const turns = state.turns.peek()
  if (text.trim() === '' || turns.length % 2 === 1) return
  setTurns([...turns, text.trim()])
}

// Takes back the turns from that one on.
export const takeBack = (from: number): void => setTurns(state.turns.peek().slice(0, from))

// Another candidate as the latest reply.
export function replaceReply(text: string, answer: Answer, rank: number): void {
  const turns = [...state.turns.peek().slice(0, -1), text]
  keepReply(turns, answer)
  setTurns(turns)
  state.rank.value = rank
}
