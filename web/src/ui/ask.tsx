// The source text and the output, of a model that writes one text for another.
import { useRef } from 'preact/hooks'
import { isKey, t, type Key } from '../i18n'
import { heaviest, percent } from '../model/grid'
import type { Task } from '../model/task'
import { first, modelInfo, models, opened, task } from '../state/answers'
import { grid, record } from '../state/derived'
import { isolated, shown } from '../model/text'
import { partIndex, pickPart, piecesOf, shownParagraph, type Paragraph } from '../state/paragraph'
import { hover, set, setModel, setText, state } from '../state/store'
import { answerStatus } from './answer_status'
import { pickRow } from './canvas_view'
import { CopyButton } from './copy'
import { Examples } from './examples'
import { Help } from './help'
import { FileBar } from './open_file'
import { Past } from './past'
import { Search, Target } from './search'
import { isSourceShown, SourceBox } from './source_box'
import { Tokens, useShading } from './tokens'

interface Words {
  source: Key
  hint: Key
  output: Key
  long: boolean // the source is a document
}
const kSentence: Words = { source: 'source', hint: 'source.hint', output: 'output', long: false }
const kWords: Partial<Record<Task, Words>> = {
  summarise: { source: 'summarise.text', hint: 'summarise.hint', output: 'summarise.summary', long: true },
}
const words = (): Words => kWords[task.value] ?? kSentence

// A button that translates the output back, if a model of the server does that.
function Swap() {
  const info = modelInfo.value
  const { source_language: from, target_language: to } = info ?? {}
  const back = models.value.find(
    (m) => from && to && from !== to && m.task === info!.task && m.source_language === to && m.target_language === from,
  )
  if (!back || opened.value) return null
  const swap = (): void => {
    const text = outputText() || state.text.peek()
    setModel(back.name)
    setText(text)
  }
  return (
    <button type="button" class="small" title={t('swap.help', { model: back.name })} onClick={swap}>
      ⇄ {t('swap')}
    </button>
  )
}

function Source() {
  const { source, hint, long } = words()
  return (
    <section class="box">
      <p class="name">
        <label for="source">{t(source)}</label>
        <Swap />
      </p>
      <SourceBox hint={hint} long={long} />
      <div class="under">
        <Examples examples={modelInfo.value?.examples ?? []} />
        <Past />
      </div>
    </section>
  )
}

// The probability of a token of the output, as the geometric mean over all of them.
const perToken = (logProbability: number, tokens: number): string =>
  percent(Math.exp(logProbability / Math.max(1, tokens)))

export function Candidates({ pick }: { pick: (rank: number) => void }) {
  const answer = first.value
  if (!answer || answer.candidates.length < 2) return null
  return (
    <div class="candidates" role="group" aria-label={t('candidate')}>
      {answer.candidates.map((c, i) => (
        <button type="button" aria-pressed={state.rank.value === i + 1} onClick={() => pick(i + 1)}>
          <span class="faint">{i + 1}</span> <bdi lang="">{c.text}</bdi>{' '}
          {answer.records[i] && (
            <span class="faint">
              {t('per.token', { value: perToken(c.log_probability, answer.records[i].target.tokens.length) })}
            </span>
          )}
        </button>
      ))}
    </div>
  )
}

function outputText(): string {
  const answer = first.value
  if (shownParagraph.value) return shownParagraph.value.text
  if (opened.value) return record.value?.target.text ?? ''
  return answer?.candidates[state.rank.value - 1]?.text ?? answer?.text ?? ''
}

// The words of the output, which are the rows of the grid.
function OutputWords() {
  const g = grid.value!
  const rows = useRef<(HTMLElement | null)[]>([])
  useShading(rows, 'row', null)
  // What was written while attending most to a word that the model does not know.
  const isGuess = (row: number): boolean => g.columns[heaviest(g, row)]?.unknown === true
  return (
    <Tokens
      labels={g.rows}
      name="side-row"
      words={rows}
      marked={null}
      place={(i) => hover(i, -1)}
      press={pickRow}
      isGuess={g.columnSide === 'source' ? isGuess : undefined}
    />
  )
}

// The sentences of a paragraph; the selected one has words, the others are pressed to select them.
function Parts({ from }: { from: Paragraph }) {
  const isWritten = isSourceShown(grid.value, record.value) && !first.value?.live && grid.value?.rowSide === 'target'
  return (
    <div class="parts">
      {piecesOf(from).map(({ text, part }) =>
        part < 0 ? (
          text
        ) : part === partIndex.value ? (
          isWritten ? (
            <OutputWords />
          ) : (
            <b>{text}</b>
          )
        ) : (
          <button type="button" class="part" dir="auto" title={t('part.pick')} onClick={() => pickPart(part)}>
            {text}
          </button>
        ),
      )}
    </div>
  )
}

function Output() {
  const answer = first.value
  const file = opened.value
  const text = outputText()
  const status = answerStatus('writing', answer)
  const logp = answer && !answer.live ? record.value?.log_probability : undefined
  const certainty =
    logp === undefined ? '' : t('per.token', { value: perToken(logp, record.value!.target.tokens.length) })
  const asWords = answer && !answer.live && text !== '' && grid.value?.rowSide === 'target'
  const parts = shownParagraph.value
  // The first says most: repetition, then length, then attention.
  const warning = answer?.warnings.map((kind) => `warning.${kind}`).find(isKey)
  const unknown = grid.value?.columnSide === 'source' ? grid.value.columns.filter((label) => label.unknown) : []
  return (
    <section class="box" aria-labelledby="side-row">
      <p class="name">
        <span id="side-row">{t(words().output)}</span>
        <span class="faint status">{[certainty, status].filter(Boolean).join(t('comma'))}</span>
        {certainty && <Help term={certainty} text={t('per.token.help')} />}
      </p>
      <output class={answer?.live ? 'live' : ''} for="source" dir="auto" lang="">
        {parts ? <Parts from={parts} /> : asWords ? <OutputWords /> : text || '\u00a0'}
      </output>
      {parts && <p class="note plain">{t('part.of', { part: partIndex.value + 1, parts: parts.parts.length })}</p>}
      {unknown.length > 0 && (
        <p class="note">{t('unknown.note', { words: unknown.map((label) => isolated(shown(label))).join(' ') })}</p>
      )}
      {warning && <p class="note">{t(warning)}</p>}
      {record.value?.cut && <p class="note">{t('cut')}</p>}
      {answer && !answer.live && !warning && record.value && !record.value.ended && <p class="note">{t('unended')}</p>}
      <Candidates pick={(rank) => set({ rank, row: -1 })} />
      <div class="under">
        {file ? (
          <FileBar file={file} />
        ) : (
          <Search>
            <Target />
          </Search>
        )}
        {text && !answer?.live && <CopyButton name={t('copy')} text={outputText} />}
      </div>
    </section>
  )
}

export function Ask() {
  return (
    <div class="ask">
      <Source />
      <Output />
    </div>
  )
}
