// What the page computes for classifiers, readers and conversations, without a browser.
import { describe, expect, it } from 'vitest'
import { readAll, readRecord } from '../../src/model/record'
import { readRecords } from '../../src/model/file'
import { exampleName, filledWith, formOf, formOfRecord, taskOf } from '../../src/model/task'
import { lossWithout, textWithout, turnsIn, wordsOf } from '../../src/model/words'
import { kDefaults } from '../../src/state/store'
import { shownReply } from '../../src/state/conversation'
import { decode, encode } from '../../src/state/url'
import { tokenise } from '../../mock/models.mjs'
import { classifyText, contextOf, findAnswers, kTaskModels } from '../../mock/tasks.mjs'
import { compact } from '../../mock/compact.mjs'

const modelOf = (name: string) => kTaskModels.find((m) => m.info.name === name)!

describe('words', () => {
  const source = tokenise('an entertaining film !')
  it('have their places, whatever tokens they are made of', () => {
    const words = wordsOf(source)
    expect(words.map((w) => w.text)).toEqual(['an', 'entertaining', 'film', '!', '</s>'])
    expect(words[1]).toMatchObject({ begin: 3, end: 15, mark: false, spaceBefore: true })
  })
  it('leave no double space behind', () => {
    const words = wordsOf(source)
    expect(textWithout(source.text, words, [1])).toBe('an film !')
    expect(textWithout(source.text, words, [0, 3])).toBe('entertaining film')
    expect(textWithout(source.text, words, [])).toBe(source.text)
    expect(textWithout(source.text, words, [0, 1, 2, 3])).toBe('')
    expect(textWithout(source.text, words, [99])).toBe(source.text)
  })
  it('of a script without spaces are its tokens', () => {
    const chinese = tokenise('很好看')
    expect(textWithout(chinese.text, wordsOf(chinese), [1])).toBe('很看')
  })
  it('with characters outside the basic plane keep their places', () => {
    const odd = tokenise('a 😀😀 b')
    expect(textWithout(odd.text, wordsOf(odd), [1])).toBe('a b')
  })
  it('count by what the label loses without them', () => {
    const of = (p: number) => [
      { label: 'good', probability: p },
      { label: 'bad', probability: 1 - p },
    ]
    const lost = lossWithout('good', 0.9, [of(0.5), of(0.95)])
    expect(lost[0]).toBeCloseTo(0.4)
    expect(lost[1]).toBeCloseTo(-0.05)
    expect(lossWithout('good', 0.9, [[]])).toEqual([0.9])
  })
})

describe('the turns of a source', () => {
  it('are found without the marks', () => {
    const source = tokenise(contextOf(['hello you', 'hi', 'how are you ?']))
    const said = turnsIn(source).map(({ begin, end }) =>
      source.tokens
        .slice(begin, end)
        .map((t) => t.text)
        .join(' '),
    )
    expect(said).toEqual(['hello you', 'hi', 'how are you ?'])
  })
  it('may be empty or one', () => {
    expect(turnsIn({ text: '', tokens: [] })).toEqual([{ begin: 0, end: 0 }])
    expect(turnsIn(tokenise('hello'))).toHaveLength(1)
  })
})

describe('forms', () => {
  it('follow the task; what is not known is text to text', () => {
    expect(formOf('classify')).toBe('classify')
    expect(formOf('summarise')).toBe('text')
    expect(formOf('dialogue')).toBe('chat')
    expect(formOfRecord('dialogue')).toBe('text')
    expect(formOf('paint')).toBe('text')
    expect(taskOf(undefined)).toBe('sequence')
  })
  it('are filled with examples of every shape', () => {
    expect(filledWith('a')).toEqual({ text: 'a', question: '', turns: [] })
    expect(filledWith({ passage: 'p', question: 'q' })).toEqual({ text: 'p', question: 'q', turns: [] })
    expect(filledWith(['a', 'b'])).toEqual({ text: '', question: '', turns: ['a', 'b'] })
    expect(filledWith(undefined).text).toBe('')
    expect(exampleName({ passage: 'p', question: 'q' })).toBe('q')
  })
})

describe('a conversation', () => {
  it('shows the latest reply, or the one that was chosen', () => {
    expect(shownReply([], -1)).toBe(-1)
    expect(shownReply(['a'], -1)).toBe(1) // which is due
    expect(shownReply(['a', 'b'], -1)).toBe(1)
    expect(shownReply(['a', 'b', 'c', 'd'], 1)).toBe(1)
    expect(shownReply(['a', 'b', 'c', 'd'], 2)).toBe(3) // the user's turns cannot be chosen
    expect(shownReply(['a', 'b', 'c', 'd'], 99)).toBe(3)
  })
})

describe('the address', () => {
  it('has what the new forms need', () => {
    const state = { ...kDefaults, question: 'who?', turns: ['a & b', '好'], removed: [0, 3], reply: 1 }
    expect(decode(`#${encode(state)}`)).toEqual(state)
  })
  it('ignores what cannot be', () => {
    for (const bad of ['turns=[1]', 'turns={', 'removed=["a"]', 'removed=[-1]', 'removed=[0.5]', 'reply=x'])
      expect(decode(bad)).toEqual(kDefaults)
  })
})

describe('records of the mock', () => {
  it('are read, whole and compact', async () => {
    const label = classifyText(modelOf('reviews'), 'a charming film').record
    const found = findAnswers(modelOf('reader'), 'The cat sleeps. It is red.', 'who sleeps', 2).record
    for (const wire of [label, found]) {
      const whole = readRecord(structuredClone(wire))
      const [packed] = await readAll([compact(wire, undefined)])
      expect(packed!.attentions.map((a) => a.rowLabels)).toEqual(whole.attentions.map((a) => a.rowLabels))
    }
    const answer = JSON.stringify({ classifications: [{ label: 'positive', record: label }] })
    expect((await readRecords(answer))[0]!.task).toBe('classify')
    expect((await readRecords(JSON.stringify({ answers: [{ record: found }] })))[0]!.task).toBe('answer')
    expect(readRecord(label).classes[0]!.label).toBe('positive')
    expect(readRecord(found).answer!.text.length).toBeGreaterThan(0)
  })
})
