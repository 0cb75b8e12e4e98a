import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { ConfigError } from "../../errors.js";
import { type Cell, parseTable } from "../burst/csv.js";
import type { NamedRow } from "../burst/max-batch.js";
import { SUMMARY_FILE, THROUGHPUT_FILE } from "../burst/result-files.js";
import type { NamedThroughput } from "./tables.js";

/** What several runs measured; `subject` names the folder, and within it what sets its rows apart. */
export interface Results {
  bursts: NamedRow[];
  throughput: NamedThroughput[];
}

/** Columns that stay text whatever they look like. */
const TEXTS = ["url", "mode", "hardware", "errors", "error_type", "error", "rep"];

/**
 * Reads the tables of folders that a benchmark has written.
 * @throws ConfigError for a folder without results.
 */
export function readResults(dirs: readonly string[]): Results {
  const results: Results = { bursts: [], throughput: [] };
  for (const dir of dirs) {
    const bursts = read(join(dir, SUMMARY_FILE));
    const throughput = read(join(dir, THROUGHPUT_FILE));
    if (bursts.length + throughput.length === 0) {
      throw new ConfigError(`${dir} holds no results: name folders that \`openenv bench\` has written.`);
    }
    results.bursts.push(...(name(dir, bursts) as unknown as NamedRow[]).map(readRepetition));
    results.throughput.push(...(name(dir, throughput).map(emptyAsNull) as unknown as NamedThroughput[]));
  }
  return results;
}

function read(file: string): Record<string, Cell>[] {
  return existsSync(file) ? parseTable(readFileSync(file, "utf8"), TEXTS) : [];
}

function name(dir: string, rows: readonly Record<string, Cell>[]): Record<string, Cell>[] {
  const differ = (["url", "mode"] as const).filter((key) => new Set(rows.map((row) => row[key])).size > 1);
  const folder = basename(resolve(dir));
  return rows.map((row) => ({ ...row, subject: [folder, ...differ.map((key) => row[key])].join(" ") }));
}

function readRepetition(row: NamedRow): NamedRow {
  return { ...row, rep: row.rep === "all" ? "all" : Number(row.rep) };
}

function emptyAsNull(row: Record<string, Cell>): Record<string, Cell> {
  return { ...row, error_type: row["error_type"] || null, error: row["error"] || null };
}
