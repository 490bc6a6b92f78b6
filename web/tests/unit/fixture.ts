// A small record made by hand: two layers of two heads, three source pieces that are two words, two target tokens.
import { readRecord, type WireRecord } from '../../src/model/record'

export const kWire: WireRecord = {
  fovea_record: 1,
  architecture: 'transformer',
  source: {
    text: 'red jackets',
    tokens: [
      { text: 'red', begin: 0, end: 3, starts_word: true },
      { text: 'jack', begin: 4, end: 8, starts_word: true },
      { text: 'ets', begin: 8, end: 11, starts_word: false },
    ],
  },
  target: {
    text: 'rote Jacken',
    tokens: [
      { text: 'rote', begin: 0, end: 4, starts_word: true },
      { text: 'Jack', begin: 5, end: 9, starts_word: true },
      { text: 'en', begin: 9, end: 11, starts_word: false },
      { text: '</s>', begin: 11, end: 11, starts_word: true, mark: true },
    ],
  },
  steps: [
    {
      log_probability: Math.log(0.8),
      alternatives: [
        { text: 'rote', log_probability: Math.log(0.8) },
        { text: 'ein', log_probability: Math.log(0.2) },
      ],
    },
    { log_probability: Math.log(0.5), alternatives: [] },
    { log_probability: Math.log(0.5), alternatives: [] },
    { log_probability: 0, alternatives: [] },
  ],
  attentions: [
    {
      kind: 'cross',
      mechanism: 'scaled-dot, global, soft',
      weights: [
        [
          [
            [1, 0, 0],
            [0, 1, 0],
            [0, 0, 1],
            [0.5, 0.25, 0.25],
          ],
          [
            [0.5, 0.5, 0],
            [0, 0.5, 0.5],
            [0, 0.5, 0.5],
            [1, 0, 0],
          ],
        ],
        [
          [
            [0.2, 0.4, 0.4],
            [0.2, 0.4, 0.4],
            [0.2, 0.4, 0.4],
            [0.2, 0.4, 0.4],
          ],
          [
            [1, 0, 0],
            [1, 0, 0],
            [1, 0, 0],
            [1, 0, 0],
          ],
        ],
      ],
    },
    {
      kind: 'encoder-self',
      weights: [
        [
          [
            [1, 0, 0],
            [0.5, 0.5, 0],
            [0, 0.5, 0.5],
          ],
        ],
      ],
    },
    {
      kind: 'decoder-self',
      weights: [
        [
          [
            [1, null, null, null],
            [0.5, 0.5, null, null],
            [0.2, 0.4, 0.4, null],
            [0.25, 0.25, 0.25, 0.25],
          ],
        ],
      ],
    },
  ],
}

export const record = () => readRecord(structuredClone(kWire))
