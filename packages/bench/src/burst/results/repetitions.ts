import type { SummaryRow } from "./summary.js";

type NamedRow = SummaryRow & { subject: string };

/** The smallest and the largest value of the single repetitions. */
export interface Spread {
  least: number;
  most: number;
}

/** The single repetitions of the burst that a row with `rep` "all" sums up. */
export function repetitionsOf(row: NamedRow, rows: readonly NamedRow[]): NamedRow[] {
  const { subject, wait_seconds, requests } = row;
  return rows.filter(
    (one) =>
      typeof one.rep === "number" &&
      one.subject === subject &&
      one.wait_seconds === wait_seconds &&
      one.requests === requests,
  );
}

/** Null where no repetition has the value. */
export function spreadOf<T>(rows: readonly T[], value: (row: T) => number | null): Spread | null {
  const values = rows.map(value).filter((one) => one !== null);
  return values.length === 0 ? null : { least: Math.min(...values), most: Math.max(...values) };
}

/** In the order in which the keys come. */
export function groupBy<T>(rows: readonly T[], key: (row: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(key(row));
    if (group === undefined) groups.set(key(row), [row]);
    else group.push(row);
  }
  return [...groups.values()];
}
