// Made-up models of the tasks that are no translation: a classifier that knows a few words, a reader that looks for the
// sentence with the words of the question, a summariser that takes the first words, and a partner who echoes.
import { hash, tokenise } from './models.mjs'

const kGood = 'good great wonderful moving charming funny brilliant love loved best 好 棒 喜'.split(' ')
const kBad = 'bad dull boring awful terrible worst tedious mess fails 差 糟 坏'.split(' ')
const kNot = ['not', 'never', "n't", '不']
const kTopics = {
  person: ['who', 'whom', '谁'],
  place: ['where', 'country', 'city', '哪'],
  number: ['how', 'many', 'when', 'year', '几'],
  definition: ['what', 'mean', 'is', '什'],
  abbreviation: ['stand', 'abbreviation', 'acronym'],
  entity: ['which', 'animal', 'colour', 'name'],
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x))
const plain = (text) => text.toLowerCase().replace(/[.,!?;:"()]/g, '')

// How much each token says, and for what.
function sentimentOf(tokens) {
  let sum = 0.15
  let turned = 1
  const signs = tokens.map((token) => {
    const word = plain(token.text)
    if (kNot.includes(word)) return ((turned = -1), 0.8)
    const sign = kGood.includes(word) ? 1 : kBad.includes(word) ? -1 : 0
    sum += sign * turned * 1.7
    if (sign !== 0) turned = 1
    return Math.abs(sign)
  })
  const positive = sigmoid(sum)
  return { classes: { positive, negative: 1 - positive }, signs }
}

function topicOf(tokens) {
  const scores = Object.entries(kTopics).map(([label, words]) => {
    const found = tokens.map((token) => (words.includes(plain(token.text)) ? 1 : 0))
    return { label, score: Math.exp(2 * found.reduce((s, x) => s + x, 0) + 0.5 * hash(label)), found }
  })
  const sum = scores.reduce((s, x) => s + x.score, 0)
  const signs = tokens.map((_, i) => Math.max(...scores.map((s) => s.found[i])))
  return { classes: Object.fromEntries(scores.map((s) => [s.label, s.score / sum])), signs }
}

const softmax = (scores) => {
  const e = scores.map(Math.exp)
  const sum = e.reduce((s, x) => s + x, 0)
  return e.map((x) => x / sum)
}

const about = (model, search) => ({
  fovea_record: 1,
  task: model.info.task,
  line: 1,
  rank: 1,
  architecture: model.info.architecture,
  search,
  score: 0,
  log_probability: 0,
  ended: true,
  cut: false,
})
const soft = (kind, mechanism, weights, more = {}) => ({
  kind,
  mechanism,
  scope: 'global',
  selection: 'soft',
  ...more,
  weights,
})

export function classifyText(model, text) {
  const source = tokenise(text)
  const { classes, signs } = model.judge(source.tokens)
  const list = Object.entries(classes)
    .map(([label, probability]) => ({ label, probability }))
    .sort((a, b) => b.probability - a.probability)
  const hops = Array.from({ length: model.hops }, (_, hop) =>
    softmax(source.tokens.map((t, i) => 3 * signs[i] + (1 + hop) * hash(t.text + hop + i) - (t.mark ? 1 : 0))),
  )
  const record = {
    ...about(model, ''),
    source,
    target: { text: '', tokens: [] },
    steps: [],
    classes: list,
    attentions: [
      soft('pooling', `additive, ${model.hops} hops`, [[hops]], { row_labels: hops.map((_, i) => `hop ${i + 1}`) }),
      ...(model.selfAttends ? [soft('encoder-self', 'scaled-dot, global, soft', selfWeights(source.tokens))] : []),
    ],
  }
  return { label: list[0].label, probability: list[0].probability, classes: list, truncated: false, record }
}

const selfWeights = (tokens) => [
  [0, 1].map((head) =>
    tokens.map((_, r) =>
      softmax(tokens.map((t, c) => -Math.abs(c - r - head) * (0.5 + head) + hash(t.text + head + c))),
    ),
  ),
]

const meanOf = (rows) => rows[0].map((_, c) => rows.reduce((sum, row) => sum + row[c], 0) / rows.length)

// Sentences as ranges of tokens.
function sentencesOf(tokens) {
  const ranges = []
  let begin = 0
  tokens.forEach((token, i) => {
    if (!token.mark && !/[.!?。！？]$/.test(token.text) && i < tokens.length - 1) return
    if (i > begin) ranges.push([begin, token.mark ? i : i + 1])
    begin = i + 1
  })
  return ranges
}

export function findAnswers(model, passage, question, nbest) {
  const source = tokenise(passage)
  const target = tokenise(question)
  const asked = target.tokens.map((t) => plain(t.text)).filter((w) => w.length > 2 || /[\u3400-\u9fff]/.test(w))
  const points = [...passage]
  const spans = sentencesOf(source.tokens)
    .flatMap(([begin, end]) => {
      const words = source.tokens.slice(begin, end)
      const overlap = words.filter((t) => asked.includes(plain(t.text))).length
      const free = words.map((t, i) => ({ t, i: begin + i })).filter(({ t }) => !asked.includes(plain(t.text)))
      return [1, 3].map((length) => {
        const at = free[Math.floor(hash(question + begin + length) * Math.max(1, free.length - length))]?.i ?? begin
        const last = Math.min(at + length, end) - 1
        return { begin: source.tokens[at].begin, end: source.tokens[last].end, score: overlap + hash(passage + at) }
      })
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, nbest)
  const sum = spans.reduce((s, x) => s + Math.exp(x.score), 0) * 1.2 || 1
  const answers = spans.map(({ begin, end, score }) => {
    const text = points.slice(begin, end).join('').replace(/[.,]$/, '')
    const bytes = (to) => Buffer.byteLength(points.slice(0, to).join(''))
    const last = begin + [...text].length
    return {
      text,
      begin,
      end: last,
      begin_byte: bytes(begin),
      end_byte: bytes(last),
      probability: Math.exp(score) / sum,
    }
  })
  const weights = target.tokens.map((q, r) =>
    softmax(
      source.tokens.map((p, c) => {
        const near = answers[0] ? -Math.abs(p.begin - answers[0].begin) / 40 : 0
        return (plain(p.text) === plain(q.text) ? 4 : 0) + Math.max(-2, near) + hash(p.text + q.text + r + c)
      }),
    ),
  )
  const back = source.tokens.map((_, c) => softmax(target.tokens.map((_, r) => Math.log(weights[r][c] + 1e-4))))
  const { text = '', begin = 0, end = 0, probability = 0 } = answers[0] ?? {}
  const record = {
    ...about(model, ''),
    source,
    target,
    steps: [],
    answer: { text, begin, end, probability },
    attentions: [
      soft('question-to-passage', 'trilinear', [[[meanOf(weights)]]], { row_labels: ['question'] }),
      soft('passage-to-question', 'trilinear', [[back]]),
    ],
  }
  return { ...answers[0], candidates: answers, record }
}

// A conversation as the text that a dialogue model reads.
export const contextOf = (turns, most = 8) =>
  turns
    .map((turn, i) => `${i % 2 === 0 ? '<a>' : '<b>'} ${typeof turn === 'string' ? turn : turn.text}`)
    .slice(-most)
    .join(' <turn> ')

const kReplies = [
  'that sounds nice , tell me more .',
  'i would love to , when shall we meet ?',
  'really ? i did not know that .',
  'me too ! it is one of my favourite things to do on a rainy sunday afternoon with friends .',
]
export const replyTo = (source) => kReplies[Math.floor(hash(source.text) * kReplies.length)]
export const summaryOf = (source) =>
  source.text
    .split(/\s+/)
    .filter((w) => w.length > 3)
    .slice(0, 8)
    .join(' ')

const base = (name, task, architecture, attentions, examples, more = {}) => ({
  info: {
    name,
    task,
    architecture,
    parameters: 2345678 + 1000 * name.length,
    source_language: 'en',
    target_language: null,
    layers: 1,
    attentions,
    examples,
    ...more,
  },
})
const pooling = (hops) => ({ kind: 'pooling', layers: 1, heads: 1, mechanism: `additive, ${hops} hops` })
const cross = { kind: 'cross', layers: 1, heads: 2, mechanism: 'scaled-dot, global, soft' }

const kPassage =
  'The Severn bridge was opened in 1966 by the Queen. It replaced a ferry that had crossed the river since Roman times. ' +
  'The engineer Gilbert Roberts designed its deck as a hollow box, which needed a quarter less steel than a truss. ' +
  'In 1996 a second crossing was built three miles downstream to carry the growing traffic between England and Wales.'

export const kTaskModels = [
  {
    ...base(
      'reviews',
      'classify',
      'recurrent',
      [pooling(3), { kind: 'encoder-self', layers: 1, heads: 2, mechanism: 'scaled-dot, global, soft' }],
      ['a charming and often moving film', 'not a good film , dull and far too long', '这部电影很好看'],
      { labels: ['negative', 'positive'] },
    ),
    judge: sentimentOf,
    hops: 3,
    selfAttends: true,
  },
  {
    ...base(
      'questions',
      'classify',
      'recurrent',
      [pooling(1)],
      ['who wrote the novel ?', 'how many people live in this city ?'],
      { labels: Object.keys(kTopics) },
    ),
    judge: topicOf,
    hops: 1,
  },
  base(
    'reader',
    'answer',
    'recurrent',
    [
      { kind: 'question-to-passage', layers: 1, heads: 1, mechanism: 'trilinear' },
      { kind: 'passage-to-question', layers: 1, heads: 1, mechanism: 'trilinear' },
    ],
    [
      { passage: kPassage, question: 'Who designed the deck of the bridge?' },
      { passage: kPassage, question: 'When was the second crossing built?' },
    ],
  ),
  {
    ...base(
      'talk',
      'dialogue',
      'transformer',
      [cross],
      ['do you like rainy days ?', ['i went to the sea last week .', 'how was it ?', 'cold , but we had fun .']],
    ),
    words: {},
    writes: replyTo,
  },
  {
    ...base('titles', 'summarise', 'transformer', [cross], [kPassage], { beam: 8 }),
    words: {},
    writes: summaryOf,
  },
]
