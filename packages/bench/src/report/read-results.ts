import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { ConfigError } from "openenv-ts/internal";
import type * as z from "zod";
import { type Cell, parseTable } from "../burst/results/csv.js";
import type { NamedRow } from "../burst/results/max-batch.js";
import { SUMMARY_FILE, THROUGHPUT_FILE } from "../burst/results/result-files.js";
import { burstRow, throughputRow } from "./row-schemas.js";
import type { NamedThroughput } from "./tables.js";

/** The results of several runs; `subject` is the folder, plus what distinguishes the rows within it. */
export interface Results {
  bursts: NamedRow[];
  throughput: NamedThroughput[];
}

/** Columns that are always text. */
const TEXTS = ["url", "mode", "hardware", "errors", "error_type", "error", "rep"];
const MAX_SHOWN = 60;

/**
 * Reads the result tables of benchmark folders.
 * @throws ConfigError for a folder without results, and for an invalid row, with its file and field.
 */
export function readResults(dirs: readonly string[]): Results {
  const results: Results = { bursts: [], throughput: [] };
  for (const dir of dirs) {
    const bursts = read(join(dir, SUMMARY_FILE), burstRow);
    const throughput = read(join(dir, THROUGHPUT_FILE), throughputRow);
    if (bursts.length + throughput.length === 0) {
      throw new ConfigError(`${dir} has no results. Use the output folders of \`openenv bench\`.`);
    }
    results.bursts.push(...(name(dir, bursts) as unknown as NamedRow[]));
    results.throughput.push(...(name(dir, throughput) as unknown as NamedThroughput[]));
  }
  return results;
}

type Row = Record<string, Cell>;

function read(file: string, schema: z.ZodType<Row>): Row[] {
  if (!existsSync(file)) return [];
  return parseTable(readFileSync(file, "utf8"), TEXTS).map((row, index) => {
    const { data, error } = schema.safeParse(row);
    const [issue] = error?.issues ?? [];
    if (issue === undefined) return data as Row;
    const field = String(issue.path[0]);
    const value =
      field in row
        ? `is ${String(row[field] ?? "empty")
            .slice(0, MAX_SHOWN)
            .toWellFormed()}`
        : "is missing";
    throw new ConfigError(
      `${file}: the field ${field} of row ${index + 1} ${value} (${issue.message}). Correct it, or measure again.`,
    );
  });
}

function name(dir: string, rows: readonly Row[]): Row[] {
  const differ = (["url", "mode"] as const).filter((key) => new Set(rows.map((row) => row[key])).size > 1);
  const folder = basename(resolve(dir));
  return rows.map((row) => ({ ...row, subject: [folder, ...differ.map((key) => row[key])].join(" ") }));
}
