// Recorded for the tour. Scores of cross-attention and of decoder self-attention, layer 2, head 1, and the probabilities of
// the tokens:
//   fovea view -m en-zh "I love you." --format json --scores --heads one --layer 2 --head 1
export const kSource = ['I', 'love', 'you', '.', '</s>'] as const
export const kTarget = ['我', '爱', '你', '。'] as const
export const kScores: readonly (readonly number[])[] = [
  [3.26, 0.66, -1.04, -0.4, 0.14],
  [-1.81, 3.63, -3.16, 0.05, 0.03],
  [-2.7, -1.87, 2.92, -0.82, 0.69],
  [-1.64, -1.35, -1.58, 0.5, 0.07],
]
export const kSelfScores: readonly (readonly number[])[] = [
  [-0.19],
  [-0.12, -2.04],
  [0.12, -1.18, -1.93],
  [0.03, -0.68, 0, 0.56],
]
export const kProbabilities = [0.921, 0.925, 0.944, 0.912] as const

// The share of sequences of letters written backwards that are right, by length, as docs/attention.md has it.
export interface ByLength {
  letters: string
  without: number
  with: number
}
export const kByLength: readonly ByLength[] = [
  { letters: '1–5', without: 1, with: 1 },
  { letters: '6–10', without: 0.523, with: 1 },
  { letters: '11–15', without: 0.017, with: 1 },
  { letters: '16–20', without: 0, with: 1 },
]
