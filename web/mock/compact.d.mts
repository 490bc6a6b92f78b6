import type { WireRecord } from '../src/model/record'

export function rowOf(weights: readonly (number | null)[]): Buffer
export function compact(record: WireRecord, shares: WireRecord['shares'] | undefined): WireRecord
export function crossMean(record: WireRecord, t: number): string
