import { describe, expect, it } from 'vitest'
import type { Grid } from '../../src/model/grid'
import { phrasesOf } from '../../src/model/phrases'

const labels = (text: string) =>
  text.split(' ').map((word) => ({ text: word, spaceBefore: true, mark: word === '</s>' }))

function gridOf(rows: string, columns: string, most: number[]): Grid {
  const [r, c] = [labels(rows), labels(columns)]
  const weights = new Float32Array(r.length * c.length).fill(0.1)
  most.forEach((column, row) => (weights[row * c.length + column] = 0.9))
  return {
    reduction: { kind: 'cross', how: 'mean', layer: 0, head: 0, layers: 1, heads: 1, words: false, through: 0 },
    rowSide: 'target',
    columnSide: 'source',
    rows: r,
    columns: c,
    weights,
    firstToken: r.map((_, i) => i),
    columnWord: c.map((_, i) => i),
    notes: [],
    hard: false,
  }
}

describe('phrases', () => {
  it('join neighbours that attend to neighbours, not punctuation and not what is apart', () => {
    const { grid, ofRow, ofColumn } = phrasesOf(
      gridOf(
        'gestern sah ich ihn , alten Mann </s>',
        'i saw him yesterday , the old man </s>',
        [3, 1, 0, 2, 4, 6, 7, 8],
      ),
    )
    expect(grid.rows.map((label) => label.text)).toEqual(['gestern', 'sah ich', 'ihn', ',', 'alten Mann', '</s>'])
    expect(grid.columns.map((label) => label.text)).toEqual(['i saw', 'him', 'yesterday', ',', 'the old man', '</s>'])
    expect(ofRow).toEqual([0, 1, 1, 2, 3, 4, 4, 5])
    expect(ofColumn).toEqual([0, 0, 1, 2, 3, 4, 4, 4, 5])
    // "sah ich" gives "i saw" the mean of its rows, of the sum of its columns.
    expect(grid.weights[1 * 6]).toBeCloseTo(1, 6)
  })

  it('have at most six words', () => {
    const { grid } = phrasesOf(gridOf('a b c d e f g h', 'a b c d e f g h', [0, 1, 2, 3, 4, 5, 6, 7]))
    expect(grid.rows.map((label) => label.text)).toEqual(['a b c d e f', 'g h'])
  })
})
