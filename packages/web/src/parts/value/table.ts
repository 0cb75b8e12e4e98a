import { isObject } from "openenv-ts/internal";
import { pictureOf } from "./picture.js";

/** An array of objects with the same fields, as a table. */
export interface TableShape {
  columns: { name: string; isNumber: boolean }[];
  rows: readonly Record<string, unknown>[];
}

const MAX_COLUMNS = 8;
/** Longer text is not for a cell. */
const MAX_TEXT = 120;
/** The first rows decide. */
const READ = 50;

/** The table of a list of similar flat objects; undefined for any other value. */
export function tableOf(value: unknown): TableShape | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const first = value.slice(0, READ);
  if (!value.every(isObject)) return undefined;
  const names = [...new Set(first.flatMap((row) => Object.keys(row)))];
  if (names.length === 0 || names.length > MAX_COLUMNS) return undefined;
  const filled = first.reduce((sum, row) => sum + Object.keys(row).length, 0);
  if (filled < (first.length * names.length) / 2) return undefined;
  if (!value.every((row) => Object.keys(row).length <= MAX_COLUMNS && Object.values(row).every(isCell)))
    return undefined;
  const columns = names.map((name) => ({
    name,
    isNumber: first.every((row) => !Object.hasOwn(row, name) || typeof row[name] === "number" || row[name] === null),
  }));
  return { columns, rows: value };
}

function isCell(value: unknown): boolean {
  if (typeof value === "string") return value.length <= MAX_TEXT && !value.includes("\n") && !pictureOf(value);
  return typeof value !== "object" || value === null;
}
