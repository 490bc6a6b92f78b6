// A record that grows: what the events of a stream have told so far, in the shape of the finished one, so that every
// view can draw it while the output is being written.
import type { ModelInfo, ReviseEvent, StartEvent, TokenEvent } from '../api/types'
import type { Attention, AttentionRecord } from './record'

export class PartialRecord {
  private readonly start: StartEvent
  private readonly model: ModelInfo | undefined
  private readonly steps: TokenEvent[] = []
  private readonly characters: string[] = []

  constructor(start: StartEvent, model: ModelInfo | undefined) {
    this.start = start
    this.model = model
  }

  add(token: TokenEvent): void {
    this.steps.length = Math.min(this.steps.length, token.step)
    this.steps.push(token)
    if (token.end <= token.begin) return
    this.cut(token.begin)
    while (this.characters.length < token.begin) this.characters.push(' ')
    this.characters.push(...token.text.trim())
  }

  // A beam changed its mind: what follows stands in place of what was said after that.
  revise({ step, end }: ReviseEvent): void {
    this.steps.length = Math.min(this.steps.length, step)
    this.cut(end)
  }

  get output(): string {
    return this.characters.join('')
  }

  private cut(end: number): void {
    this.characters.length = Math.min(this.characters.length, end)
  }

  record(): AttentionRecord | null {
    if (this.steps.length === 0) return null
    return {
      architecture: this.model?.architecture ?? '',
      source: this.start.source,
      target: {
        text: this.output,
        tokens: this.steps.map((s, i) => ({
          text: s.text,
          begin: s.begin,
          end: s.end,
          mark: s.mark ?? (s.begin === s.end && s.text.startsWith('</')),
          starts_word: s.starts_word ?? (i === 0 || s.begin > this.steps[i - 1]!.end),
        })),
      },
      steps: this.steps.map((s) => ({ log_probability: s.log_probability, alternatives: s.alternatives ?? [] })),
      log_probability: this.steps.reduce((sum, s) => sum + s.log_probability, 0),
      ended: false,
      cut: false,
      attentions: this.attentions(),
      wire: null,
    }
  }

  private attentions(): Attention[] {
    const rows = this.steps.map((s) => s.attention?.cross).filter((r) => r !== undefined)
    const columns = this.start.source.tokens.length
    const heads = rows[0]?.length ?? 0
    if (heads === 0 || rows.length !== this.steps.length) return []
    const known = this.model?.attentions.find((a) => a.kind === 'cross')
    const layers = known && known.layers * known.heads === heads ? known.layers : 1
    const weights = Array.from({ length: heads }, (_, head) => {
      const cells = new Float32Array(rows.length * columns)
      rows.forEach((row, r) => row[head]!.forEach((w, c) => (cells[r * columns + c] = w ?? NaN)))
      return cells
    })
    const mechanism = known?.mechanism ?? ''
    return [
      { kind: 'cross', mechanism, hard: /\bhard\b/.test(mechanism), layers, heads: heads / layers, rows: rows.length, columns, best: null, weights },
    ]
  }
}
