// What a picture of links draws: the links that are left when the smallest are pruned, and how mass moves between rows.
// src/view/links.cpp computes the same; tests/view/cases/links.json has the cases of both.
import { at, type Grid } from './grid'

export interface Link {
  row: number
  column: number
  weight: number
}

export interface PrunedLinks {
  drawn: Link[] // by row, then column
  links: number // the number of cells with a weight above 0, drawn or not
  hiddenShare: number // of the attention
}

// Weights are floats that sum to about 1: a rounding error must not decide whether a link is drawn.
const kTolerance = 1e-6

function linksOfRow(grid: Grid, row: number): Link[] {
  const links: Link[] = []
  for (let column = 0; column < grid.columns.length; ++column) {
    const weight = at(grid, row, column)
    if (weight > 0) links.push({ row, column, weight }) // false for an absent cell
  }
  return links
}

// Hides in each row the smallest links that together have at most `hide` of its attention, then the smallest links of
// all rows while more than `maxLinks` are left.
export function pruneLinks(grid: Grid, hide: number, maxLinks = 4000): PrunedLinks {
  let drawn: Link[] = []
  let links = 0
  let total = 0
  let hidden = 0
  for (let row = 0; row < grid.rows.length; ++row) {
    const own = linksOfRow(grid, row).sort((a, b) => a.weight - b.weight)
    const sum = own.reduce((s, l) => s + l.weight, 0)
    let out = 0
    let first = 0
    while (first < own.length && out + own[first]!.weight <= hide * sum + kTolerance) out += own[first++]!.weight
    links += own.length
    total += sum
    hidden += out
    drawn.push(...own.slice(first))
  }
  if (drawn.length > maxLinks) {
    drawn.sort((a, b) => b.weight - a.weight)
    for (const link of drawn.slice(maxLinks)) hidden += link.weight
    drawn = drawn.slice(0, maxLinks)
  }
  drawn.sort((a, b) => a.row - b.row || a.column - b.column)
  return { drawn, links, hiddenShare: total > 0 ? hidden / total : 0 }
}

// Mass that moves from a column of one row to a column of the next.
export interface Move {
  from: number
  to: number
  mass: number
}

// A row divided by its sum; empty if the sum is 0.
function normalisedRow(grid: Grid, row: number): number[] {
  const links = linksOfRow(grid, row)
  const sum = links.reduce((s, l) => s + l.weight, 0)
  if (!(sum > 0)) return []
  const result = new Array<number>(grid.columns.length).fill(0)
  for (const link of links) result[link.column] = link.weight / sum
  return result
}

// The optimal transport of one row's attention to another's, each divided by its sum, if moving to the next column costs
// 1: in one dimension mass moves in order. Empty if either row has no attention.
export function transport(grid: Grid, row: number, next: number): Move[] {
  const supply = normalisedRow(grid, row)
  const demand = normalisedRow(grid, next)
  const moves: Move[] = []
  let from = 0
  let to = 0
  while (from < supply.length && to < demand.length) {
    const mass = Math.min(supply[from]!, demand[to]!)
    if (mass > kTolerance) moves.push({ from, to, mass })
    supply[from]! -= mass
    demand[to]! -= mass
    if (supply[from]! <= demand[to]!) ++from
    else ++to
  }
  return moves
}

// The columns that a unit of mass moves from a row to the next, on average over the pairs of rows with a transport.
export function meanMove(grid: Grid): number {
  let distance = 0
  let pairs = 0
  for (let row = 0; row + 1 < grid.rows.length; ++row) {
    const moves = transport(grid, row, row + 1)
    for (const move of moves) distance += Math.abs(move.to - move.from) * move.mass
    if (moves.length > 0) ++pairs
  }
  return pairs > 0 ? distance / pairs : 0
}
