// Made-up models for the mock: they translate word by word from small dictionaries and attend to what they translate,
// more or less sharply from head to head. The same question always has the same answer.

const kEnglishGerman = {
  a: 'ein',
  the: 'der',
  dog: 'Hund',
  runs: 'läuft',
  through: 'durch',
  snow: 'Schnee',
  and: 'und',
  man: 'Mann',
  in: 'in',
  red: 'roten',
  jacket: 'Jacke',
  is: 'ist',
  reading: 'liest',
  newspaper: 'Zeitung',
  on: 'auf',
  bench: 'Bank',
  old: 'alter',
  woman: 'Frau',
  with: 'mit',
  street: 'Straße',
  musician: 'Musiker',
}
const kChineseEnglish = {
  我: 'I',
  喜: 'like',
  欢: '',
  看: 'reading',
  书: 'books',
  今: 'today',
  天: '',
  气: 'weather',
  很: 'very',
  好: 'good',
  你: 'you',
  们: '',
  猫: 'cat',
  在: 'is',
  家: 'home',
}
const kArabicEnglish = {
  القطة: 'the cat',
  تجلس: 'sits',
  على: 'on',
  السجادة: 'the carpet',
  في: 'in',
  البيت: 'the house',
  الكتاب: 'the book',
  جديد: 'new',
  هذا: 'this',
}
const kEnglishArabic = Object.fromEntries(
  Object.entries(kArabicEnglish).map(([ar, en]) => [en.replace('the ', ''), ar]),
)

const cross = (layers, heads, mechanism) => ({ kind: 'cross', layers, heads, mechanism })
const transformer = (layers, heads) => [
  cross(layers, heads, 'scaled-dot, global, soft'),
  { kind: 'encoder-self', layers, heads, mechanism: 'scaled-dot, global, soft' },
  { kind: 'decoder-self', layers, heads, mechanism: 'scaled-dot, causal, soft' },
]

const model = (name, from, to, words, attentions, examples) => ({
  words,
  info: {
    name,
    task: 'sequence',
    architecture: attentions.length > 1 ? 'transformer' : 'bahdanau',
    parameters: 1234567 + 1000 * name.length,
    source_language: from,
    target_language: to,
    layers: attentions[0].layers,
    attentions,
    examples,
  },
})

export const kModels = [
  model('en-de', 'en', 'de', kEnglishGerman, transformer(3, 4), [
    'a dog runs through the snow',
    'the old musician is reading a newspaper on the bench',
    'a man in a red jacket',
  ]),
  model(
    'en-de-small',
    'en',
    'de',
    kEnglishGerman,
    [cross(1, 1, 'additive, global, soft')],
    ['a dog runs through the snow'],
  ),
  model('zh-en', 'zh', 'en', kChineseEnglish, [cross(1, 1, 'additive, global, soft')], ['我喜欢看书', '今天天气很好']),
  model('ar-en', 'ar', 'en', kArabicEnglish, transformer(2, 2), ['القطة تجلس على السجادة']),
  model('en-ar', 'en', 'ar', kEnglishArabic, [cross(1, 2, 'general, global, soft')], ['this book in the house']),
  model('large', null, null, {}, [cross(1, 1, 'dot, global, soft')], ['512']),
]

export const hash = (text) => {
  let h = 2166136261
  for (const c of text) h = Math.imul(h ^ c.codePointAt(0), 16777619)
  return ((h ^ (h >>> 13)) >>> 0) / 4294967296
}

const kChinese = /[\u3400-\u9fff]/
const kStrange = /\p{Extended_Pictographic}/u // what no model of the mock knows

// Words with their places, in code points; long ones in pieces, Chinese by character.
export function tokenise(text) {
  const points = [...text]
  const tokens = []
  const add = (begin, end) => {
    for (let at = begin; at < end;) {
      const left = end - at
      const step = kChinese.test(points[at]) ? 1 : left > 7 ? 4 : left
      tokens.push({
        text: points.slice(at, at + step).join(''),
        begin: at,
        end: at + step,
        starts_word: at === begin || kChinese.test(points[at]),
        ...(kStrange.test(points[at]) && { unknown: true }),
      })
      at += step
    }
  }
  let begin = -1
  points.forEach((c, i) => {
    if (/\s/.test(c)) {
      if (begin >= 0) add(begin, i)
      begin = -1
    } else if (begin < 0) begin = i
  })
  if (begin >= 0) add(begin, points.length)
  tokens.push({ text: '</s>', begin: points.length, end: points.length, starts_word: true, mark: true })
  return { text, tokens }
}

// The target's words and which source token each comes from.
function dictionary(model, source) {
  const out = []
  let word = ''
  let at = 0
  const flush = () => {
    if (!word) return
    const found = model.words[word.toLowerCase()] ?? model.words[word]
    if (found !== '') out.push({ text: found ?? word, from: at })
    word = ''
  }
  source.tokens.forEach((token, i) => {
    if (token.starts_word) (flush(), (at = i))
    if (!token.mark) word += token.text
  })
  flush()
  return out
}

// Tokens as text: as in what would be written anyway, where they begin it.
function joined(words, path, spaced) {
  const usual = tokenise(words.map((w) => w.text).join(spaced ? ' ' : ''))
  const same = path.every((text, i) => usual.tokens[i]?.text === text)
  return same && path.length > 0
    ? [...usual.text].slice(0, usual.tokens[path.length - 1].end).join('')
    : path.join(spaced ? ' ' : '')
}

// What is written: a prefix and a next token by force, then the rest of the dictionary's words.
export function write(model, source, { prefix = '', next = '', target = '' }) {
  if (target) return tokenise(target)
  const words = model.writes
    ? model
        .writes(source)
        .split(' ')
        .map((text) => ({ text }))
    : dictionary(model, source)
  const spaced = model.info.target_language !== 'zh'
  const text = Array.isArray(prefix) ? joined(words, prefix, spaced) : prefix
  const forced = `${text.trimEnd()}${text && next ? (spaced ? ' ' : '') : ''}${next}`.trim()
  const count = forced ? forced.split(/\s+/).length : 0
  return tokenise([forced, ...words.slice(count).map((w) => w.text)].filter(Boolean).join(spaced ? ' ' : ''))
}

const softmax = (scores) => {
  const e = scores.map((s) => (s === null ? null : Math.exp(s)))
  const sum = e.reduce((s, x) => s + (x ?? 0), 0)
  return e.map((x) => (x === null ? null : x / sum))
}

// How one head looks from `rows` to `columns`: near the place that fits, with its own sharpness and shift.
function head(kind, layer, h, rows, columns) {
  const sharp = 0.6 + 2.6 * hash(`${kind}${layer}.${h}`)
  const shift = kind === 'cross' ? (h % 3) - 1 : h % 4 === 0 ? -1 : h % 4 === 1 ? 1 : 0
  return rows.map((row, r) => {
    const centre = kind === 'cross' ? (r / Math.max(1, rows.length - 1)) * (columns.length - 1) : r
    return softmax(
      columns.map((column, c) => {
        if (kind === 'decoder-self' && c > r) return null
        const same = row.text === column.text ? 2 : 0
        return sharp * (same - Math.abs(c - centre - shift * 0.7)) + hash(row.text + column.text + layer + h)
      }),
    )
  })
}

export function attend(model, source, target, edits = []) {
  return model.info.attentions.map(({ kind, layers, heads, mechanism }) => {
    const rows = kind === 'encoder-self' ? source.tokens : target.tokens
    const columns = kind === 'decoder-self' ? [{ text: '<s>' }, ...target.tokens.slice(0, -1)] : source.tokens
    const weights = Array.from({ length: layers }, (_, l) =>
      Array.from({ length: heads }, (_, h) => head(kind, l, h, rows, columns)),
    )
    for (const edit of edits.filter((e) => e.kind === kind && e.weights)) {
      const sum = edit.weights.reduce((s, w) => s + w, 0)
      weights.forEach((layer, l) => {
        if (edit.layer && edit.layer !== l + 1) return
        layer.forEach((cells, h) => {
          if ((edit.head && edit.head !== h + 1) || !cells[edit.row]) return
          cells[edit.row] = edit.weights.map((w) => w / sum)
        })
      })
    }
    return { kind, mechanism, scope: 'global', selection: 'soft', weights }
  })
}

const kOthers = ['und', 'ein', 'eine', 'the', 'Haus', 'mit', 'auf', '在', 'في', 'Zeit', '<unk>', '</s>']

export function stepsOf(target, edits = []) {
  const off = edits.filter((e) => e.off).length
  return target.tokens.map((token, t) => {
    const changed = edits.some((e) => e.weights && e.row <= t)
    const p = Math.max(
      0.02,
      0.97 - 0.55 * hash(token.text + t) ** 2 - 0.11 * off * hash(`off${t}`) - (changed ? 0.3 : 0),
    )
    let left = 1 - p
    const others = kOthers
      .filter((o) => o !== token.text)
      .sort((a, b) => hash(a + t + token.text) - hash(b + t + token.text))
    const alternatives = [{ text: token.text, log_probability: Math.log(p) }]
    for (const text of others.slice(0, 7)) {
      const q = left * 0.55
      left -= q
      alternatives.push({ text, log_probability: Math.log(Math.max(q, 1e-9)) })
    }
    return {
      log_probability: Math.log(p),
      alternatives: alternatives.sort((a, b) => b.log_probability - a.log_probability),
    }
  })
}

// n by n weights, for timings: a diagonal band.
export function largeRecord(n) {
  const side = () => ({
    text: '',
    tokens: Array.from({ length: n }, (_, i) => ({ text: `w${i}`, begin: 0, end: 0, starts_word: true })),
  })
  const weights = Array.from({ length: n }, (_, r) =>
    Array.from({ length: n }, (_, c) => (Math.abs(r - c) < 3 ? 0.2 : Math.abs(r - c) < 40 ? 0.001 : 0)),
  )
  return {
    source: side(),
    target: side(),
    attentions: [{ kind: 'cross', mechanism: 'dot, global, soft', selection: 'soft', weights: [[weights]] }],
  }
}
