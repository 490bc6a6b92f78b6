// Diagnostics of the grid, of the second answer beside it and of every head, and charts by step and by source token.
import { useMemo } from 'preact/hooks'
import { t } from '../i18n'
import { coverage, diagnose, higherIsWorse, kDiagnostics as kAll, type Diagnostics } from '../model/diagnostics'
import { rowEntropy, type Grid } from '../model/grid'
import { everyHead } from '../model/reduce'
import { grid, isMirrored, kind, otherGrid, record, sideName, titleOf } from '../state/derived'
import { state } from '../state/store'
import { chart } from '../views/chart'
import type { Scene } from '../views/scene'
import { CanvasView, useRoom } from './canvas_view'
import { useExportedPicture } from './exported_picture'

// The combined score is left out: of a correct translation it may be 0.02, and only an expert knows that this is usual.
const kDiagnostics = kAll.filter((name) => name !== 'confidence')

function Summary({ d, other }: { d: Diagnostics; other: Diagnostics | null }) {
  return (
    <dl class="cards">
      {kDiagnostics.map((name) => (
        <div>
          <dt>{t(`diag.${name}`)}</dt>
          <dd class="value">
            {d[name].toFixed(3)}
            {other && <span class="faint"> → {other[name].toFixed(3)}</span>}
          </dd>
          <dd class="faint">
            {t(`diag.${name}.about`)}; {t(higherIsWorse(name) ? 'diag.worse.up' : 'diag.worse.down')}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function ByHead({ grids }: { grids: Grid[] }) {
  return (
    <div class="numbers" tabIndex={0} role="region" aria-label={t('diag.heads')}>
      <table>
        <caption>{t('diag.heads')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('head')}</th>
            {kDiagnostics.map((name) => (
              <th scope="col">{t(`diag.${name}`)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {grids.map((g) => {
            const d = diagnose(g)
            return (
              <tr>
                <th scope="row">{t('title.one', { layer: g.reduction.layer, head: g.reduction.head })}</th>
                {kDiagnostics.map((name) => (
                  <td>{d[name].toFixed(3)}</td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

// The numbers and both charts, as one picture.
function sheetOf(d: Diagnostics, parts: { title: string; scene: Scene }[]): Scene {
  const top = kDiagnostics.length * 20 + 16
  const tops = parts.map((_, i) => parts.slice(0, i).reduce((y, p) => y + p.scene.height + 34, top))
  return {
    ...parts[0]!.scene,
    width: Math.max(420, ...parts.map((p) => p.scene.width)),
    height: parts.reduce((y, p) => y + p.scene.height + 34, top),
    paint(painter) {
      kDiagnostics.forEach((name, i) => {
        painter.text(t(`diag.${name}`), 0, 14 + i * 20, { size: 13, fill: painter.ink.faint })
        painter.text(d[name].toFixed(3), 260, 14 + i * 20, {
          size: 13,
          fill: painter.ink.ink,
          align: 'right',
          bold: true,
        })
      })
      parts.forEach((p, i) => {
        painter.text(p.title, 0, tops[i]! + 14, { size: 13, fill: painter.ink.ink, bold: true })
        painter.group(0, tops[i]! + 26, () => p.scene.paint(painter))
      })
    },
  }
}

export function DiagnosticsPanel() {
  const g = grid.value!
  const other = otherGrid.value
  const [pane, room] = useRoom<HTMLDivElement>()
  const d = useMemo(() => diagnose(g), [g])
  const words = state.words.value
  const heads = useMemo(() => everyHead(record.value!, kind.value, words), [record.value, kind.value, words])
  const mirror = isMirrored.value
  const names = { rows: sideName(g.rowSide).toLowerCase(), columns: sideName(g.columnSide).toLowerCase() }
  const titles = [t('diag.rows', names), t('diag.columns', names)]
  const charts = useMemo(() => {
    if (room === 0) return null
    const rows = chart(
      {
        labels: g.rows,
        of: 'row',
        series: [{ name: t('entropy.attention'), values: g.rows.map((_, r) => Math.exp(rowEntropy(g, r))) }],
        mirror: false,
      },
      room,
    )
    const columns = chart(
      { labels: g.columns, of: 'column', series: [{ name: t('weight'), values: coverage(g) }], even: 1, mirror },
      room,
    )
    return { rows, columns }
  }, [g, room, mirror, titles[0]])
  const title = titleOf(g)
  useExportedPicture(
    charts && {
      title: `${t('view.diagnostics')}: ${title}`,
      note: t('diag.about'),
      scene: sheetOf(d, [
        { title: titles[0]!, scene: charts.rows },
        { title: titles[1]!, scene: charts.columns },
      ]),
      tint: null,
      grids: [g],
    },
    [charts, d, title],
  )
  return (
    <div ref={pane}>
      <p class="faint">{t('diag.about')}</p>
      <Summary d={d} other={other ? diagnose(other) : null} />
      {charts && (
        <>
          <h3>{titles[0]}</h3>
          <CanvasView scene={charts.rows} label={titles[0]!} />
          <h3>{titles[1]}</h3>
          <CanvasView scene={charts.columns} label={titles[1]!} />
        </>
      )}
      {heads.length > 1 && <ByHead grids={heads} />}
    </div>
  )
}
