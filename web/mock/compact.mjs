// Records in the compact form of docs/record.md, as the server writes them.
import { deflateSync } from 'node:zlib'

export function rowOf(weights) {
  const scale = Math.round(65535 * Math.max(0, ...weights.map((w) => w ?? 0)))
  const cell = (w) => (w === null ? 255 : scale === 0 ? 0 : Math.min(254, Math.round((w * 254 * 65535) / scale)))
  return Buffer.from([scale & 255, scale >> 8, ...weights.map(cell)])
}

const pack = (weights, first) =>
  deflateSync(Buffer.concat(weights.flat().flatMap((head) => head.slice(first).map(rowOf)))).toString('base64')

// `shares` as in docs/record.md, or nothing.
export function compact({ source, ...record }, shares) {
  const attentions = record.attentions.map(({ weights, ...a }) => {
    const shape = [weights.length, weights[0].length, weights[0][0].length, weights[0][0][0].length]
    return { ...a, shape, packed: pack(weights, !shares ? 0 : a.kind === 'encoder-self' ? shape[2] : shares.rows) }
  })
  const first = shares?.tokens ?? 0
  const target = { ...record.target, tokens: record.target.tokens.slice(first) }
  return { ...record, ...(shares ? { shares } : { source }), target, steps: record.steps.slice(first), attentions }
}

const mean = (rows) => rows[0].map((_, c) => rows.reduce((sum, row) => sum + (row[c] ?? 0), 0) / rows.length)
// Of token t, what a compact stream tells.
export const crossMean = (record, t) => {
  const cross = record.attentions.find((a) => a.kind === 'cross')
  return rowOf(mean(cross.weights.flat().map((head) => head[t]))).toString('base64')
}
