// A table of every weight, or of the three largest of each row if there are too many. It is built when it is opened.
import { useState } from 'preact/hooks'
import { t } from '../i18n'
import { weightText, type Grid } from '../model/grid'
import { shown } from '../model/text'
import { sideName, titleOf } from '../state/derived'

const kFew = 4096
const kMaxRows = 500

export function heaviestOf(grid: Grid, row: number, count: number): number[] {
  const value = (c: number): number => grid.weights[row * grid.columns.length + c]!
  return grid.columns
    .map((_, c) => c)
    .filter((c) => !Number.isNaN(value(c)))
    .sort((a, b) => value(b) - value(a))
    .slice(0, count)
}

function Table({ grid }: { grid: Grid }) {
  const width = grid.columns.length
  const few = grid.rows.length * width <= kFew
  const weight = (r: number, c: number): string => {
    const w = grid.weights[r * width + c]!
    return Number.isNaN(w) ? t('masked') : weightText(w)
  }
  return (
    <div class="numbers" tabIndex={0} role="region" aria-label={t('numbers')}>
      <table>
        <caption>
          {t('numbers.caption', {
            title: titleOf(grid),
            rows: sideName(grid.rowSide),
            columns: sideName(grid.columnSide),
          })}
          {!few && `; ${t('numbers.top')}`}
          {grid.rows.length > kMaxRows && `; ${t('numbers.rows', { count: kMaxRows })}`}
        </caption>
        {few && (
          <thead>
            <tr>
              <td />
              {grid.columns.map((label) => (
                <th scope="col" dir="auto" lang="">
                  {shown(label)}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {grid.rows.slice(0, kMaxRows).map((label, r) => (
            <tr>
              <th scope="row" dir="auto" lang="">
                {shown(label)}
              </th>
              {few
                ? grid.columns.map((_, c) => <td>{weight(r, c)}</td>)
                : heaviestOf(grid, r, 3).map((c) => (
                    <td>
                      <bdi lang="">{shown(grid.columns[c]!)}</bdi> {weight(r, c)}
                    </td>
                  ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function Numbers({ grid }: { grid: Grid }) {
  const [open, setOpen] = useState(false)
  return (
    <details class="of-numbers" onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
      <summary>{t('numbers')}</summary>
      {open && <Table grid={grid} />}
    </details>
  )
}
