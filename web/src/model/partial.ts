// A record that grows with the events of a stream. It has the shape of a finished record, so that every view can draw it
// during decoding.
import type { ModelInfo, ReviseEvent, StartEvent, TokenEvent } from '../api/types'
import { fromBase64, readRow } from './compact'
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
    this.truncate(token.begin)
    while (this.characters.length < token.begin) this.characters.push(' ')
    this.characters.push(...token.text.trim())
  }

  // Another hypothesis became the best of the beam: retains the common prefix; new tokens follow.
  revise({ step, end }: ReviseEvent): void {
    this.steps.length = Math.min(this.steps.length, step)
    this.truncate(end)
  }

  get output(): string {
    return this.characters.join('')
  }

  private truncate(end: number): void {
    this.characters.length = Math.min(this.characters.length, end)
  }

  record(): AttentionRecord | null {
    if (this.steps.length === 0) return null
    return {
      task: '',
      architecture: this.model?.architecture ?? '',
      source: this.start.source,
      image: null,
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
      classes: [],
      answer: null,
      attentions: this.attentions(),
      wire: null,
    }
  }

  // The events have the mean over all layers and heads; only the finished record has each head.
  private attentions(): Attention[] {
    const rows = this.steps.map((s) => s.cross_mean).filter((r) => r !== undefined)
    const columns = this.start.source.tokens.length
    if (rows.length === 0 || rows.length !== this.steps.length) return []
    const cells = new Float32Array(rows.length * columns)
    rows.forEach((row, r) => readRow(fromBase64(row), 0, columns, cells, r * columns))
    const mechanism = this.model?.attentions.find((a) => a.kind === 'cross')?.mechanism ?? ''
    return [
      {
        kind: 'cross',
        mechanism,
        hard: /\bhard\b/.test(mechanism),
        layers: 1,
        heads: 1,
        rows: rows.length,
        columns,
        rowLabels: [],
        best: null,
        weights: [cells],
      },
    ]
  }
}
