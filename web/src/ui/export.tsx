// Saves any view as SVG, PNG, JSON or one HTML file, without a request to the server.
import { language, t } from '../i18n'
import { weightText, type Grid } from '../model/grid'
import { wireOf } from '../model/record'
import { directionOf, shown } from '../model/text'
import { first, modelName } from '../state/answers'
import { record, view } from '../state/derived'
import { legend } from '../views/heatmap'
import { kPrint } from '../views/colour'
import { CanvasPainter, escapeXml, measure, SvgPainter, type Painter } from '../views/painter'
import { inkNow } from './canvas_view'
import { CopyButton } from './copy'
import { heaviestOf } from './numbers'
import { exportedPicture, type ExportedPicture } from './exported_picture'

const kMargin = 20
const kLongestQuote = 160 // characters of a sentence in a caption

function paint(painter: Painter, s: ExportedPicture): { width: number; height: number } {
  const { ink } = painter
  let y = kMargin + 14
  painter.text(s.title, kMargin, y, { size: 16, fill: ink.ink, bold: true })
  if (s.note) painter.text(s.note, kMargin, (y += 24), { size: 12, fill: ink.faint })
  if (s.tint) {
    legend(painter, s.tint, kMargin, y + 14, t('weight'))
    y += 44
  }
  y += 16
  painter.group(kMargin, y, () => s.scene.paint(painter))
  const text = Math.max(s.title.length * 9, s.note.length * 6.6)
  return { width: Math.max(s.scene.width, text) + 2 * kMargin, height: y + s.scene.height + kMargin }
}

function asSvg(s: ExportedPicture): string {
  const painter = new SvgPainter(inkNow())
  const { width, height } = paint(painter, s)
  return painter.finish(width, height, s.title)
}

// The picture for a paper: in greys on white, with what it shows, of which model, and how to cite it below it. Letters stay
// letters, in the reader's fonts.
function asFigure(s: ExportedPicture): string {
  const painter = new SvgPainter(kPrint)
  const { width, height } = paint(painter, { ...s, ...s.print?.() })
  const lines = captionOf(s)
  lines.forEach((line, i) => painter.text(line, kMargin, height + 14 + 18 * i, { size: 12, fill: kPrint.ink }))
  const wide = Math.max(width, ...lines.map((line) => measure(line, 12) + 2 * kMargin))
  return painter.finish(wide, height + 18 * lines.length + kMargin, s.title)
}

function captionOf(s: ExportedPicture): string[] {
  const r = record.peek()
  const sentences = r && !r.image ? [r.source.text, r.target.text].filter((x) => x && x.length <= kLongestQuote) : []
  return [s.title, ...sentences, t('export.cite', { model: first.peek()?.model || modelName.peek() })]
}

// The picture as HTML, to be pasted into another page.
function asSnippet(s: ExportedPicture): string {
  const caption = captionOf(s).map(escapeXml).join('<br>')
  return `<figure style="margin:0;overflow-x:auto">${asSvg(s)}<figcaption dir="auto">${caption}</figcaption></figure>`
}

function asPng(s: ExportedPicture): Promise<Blob> {
  const ink = inkNow()
  const canvas = document.createElement('canvas')
  const { width, height } = paint(new SvgPainter(ink), { ...s, scene: { ...s.scene, paint: () => undefined } })
  const ratio = Math.min(2, Math.sqrt(6e7 / (width * height)))
  canvas.width = Math.ceil(width * ratio)
  canvas.height = Math.ceil(height * ratio)
  const context = canvas.getContext('2d')!
  context.fillStyle = ink.paper
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.scale(ratio, ratio)
  paint(new CanvasPainter(context, ink, ratio), s)
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error('png'))), 'image/png'))
}

function table(g: Grid): string {
  const few = g.rows.length * g.columns.length <= 4096
  const cell = (r: number, c: number): string => weightText(g.weights[r * g.columns.length + c]!)
  const head = (text: string, scope: string): string => `<th scope="${scope}" dir="auto">${escapeXml(text)}</th>`
  const rows = g.rows.map((label, r) => {
    const cells = few
      ? g.columns.map((_, c) => `<td>${cell(r, c)}</td>`)
      : heaviestOf(g, r, 3).map((c) => `<td><bdi>${escapeXml(shown(g.columns[c]!))}</bdi> ${cell(r, c)}</td>`)
    return `<tr>${head(shown(label), 'row')}${cells.join('')}</tr>`
  })
  const top = few ? `<tr><td></td>${g.columns.map((l) => head(shown(l), 'col')).join('')}</tr>` : ''
  return `<table>${top}${rows.join('')}</table>`
}

function asHtml(s: ExportedPicture): string {
  const r = record.peek()
  const ink = inkNow()
  const sentence = (text: string | undefined): string => (text ? `<p dir="auto">${escapeXml(text)}</p>` : '')
  // The record is embedded as data; `<` is escaped, so that nothing in it can end the element.
  const wire = r && wireOf(r)
  const data = wire
    ? `<script type="application/json" id="record">${JSON.stringify(wire).replace(/</g, '\\u003c')}</script>`
    : ''
  const style = `body{background:${ink.paper};color:${ink.ink};font:15px/1.5 system-ui,sans-serif;margin:24px}svg{max-width:100%;height:auto}table{border-collapse:collapse;font-size:13px}td,th{padding:3px 8px;border-bottom:1px solid ${ink.rule};text-align:end}`
  return (
    `<!doctype html><html lang="${language.peek()}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">` +
    `<title>${escapeXml(s.title)}</title><style>${style}</style></head><body>${sentence(r?.source.text)}${sentence(r?.target.text)}` +
    `${asSvg(s)}<details><summary>${escapeXml(t('numbers'))}</summary>${s.grids.slice(0, 1).map(table).join('')}</details>${data}</body></html>`
  )
}

function save(content: Blob | string, type: string, ending: string): void {
  const blob = typeof content === 'string' ? new Blob([content], { type }) : content
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = `fovea-${view.peek()}.${ending}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000) // a busy browser begins late
}

// The grids that are shown and the record that they come from.
function asJson(s: ExportedPicture): string {
  const r = record.peek()
  const grids = s.grids.map((g) => ({
    reduction: g.reduction,
    rows: g.rows.map((l) => l.text),
    columns: g.columns.map((l) => l.text),
    direction: directionOf(g.columns),
    weights: g.rows.map((_, i) =>
      Array.from(g.weights.subarray(i * g.columns.length, (i + 1) * g.columns.length), (w) =>
        Number.isNaN(w) ? null : w,
      ),
    ),
  }))
  return JSON.stringify({ view: view.peek(), title: s.title, grids, record: r && wireOf(r) })
}

export function ExportBar() {
  const s = exportedPicture.value
  if (!s) return null
  const formats: [string, () => void | Promise<void>][] = [
    ['SVG', () => save(asSvg(s), 'image/svg+xml', 'svg')],
    ['PNG', async () => save(await asPng(s), 'image/png', 'png')],
    ['JSON', () => save(asJson(s), 'application/json', 'json')],
    ['HTML', () => save(asHtml(s), 'text/html', 'html')],
  ]
  return (
    <div class="export" role="group" aria-label={t('export')}>
      <span class="faint">{t('export')}</span>
      {formats.map(([name, act]) => (
        <button type="button" aria-label={t('export.as', { format: name })} onClick={() => void act()}>
          {name}
        </button>
      ))}
      <button
        type="button"
        title={t('export.figure.help')}
        onClick={() => save(asFigure(s), 'image/svg+xml', 'figure.svg')}
      >
        {t('export.figure')}
      </button>
      <CopyButton name={t('export.address')} text={() => location.href} />
      <CopyButton name={t('export.embed')} text={() => asSnippet(s)} help={t('export.embed.help')} />
    </div>
  )
}
