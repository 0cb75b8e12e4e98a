import { appendFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "openenv-ts/internal";
import type { RequestRow } from "../types.js";
import { renderTable } from "./csv.js";
import type { Burst, Subject, SummaryRow } from "./summary.js";
import type { ThroughputRow } from "./throughput.js";

export const SUMMARY_FILE = "summary.csv";
export const THROUGHPUT_FILE = "throughput.csv";
const RAW_FILE = "raw.jsonl";

/** The folder of one run. It is made with the first result; all is on disk as soon as it is known. */
export interface ResultFiles {
  readonly dir: string;
  addRequests(subject: Subject, burst: Burst, rows: readonly RequestRow[]): void;
  writeSummary(rows: readonly SummaryRow[]): void;
  writeThroughput(rows: readonly ThroughputRow[]): void;
}

/** @throws ConfigError when the folder holds the results of another run of the same kind. */
export function openResultFiles(dir: string, kind: "bursts" | "throughput"): ResultFiles {
  for (const name of kind === "bursts" ? [SUMMARY_FILE, RAW_FILE] : [THROUGHPUT_FILE]) {
    if (existsSync(join(dir, name))) {
      throw new ConfigError(`${join(dir, name)} is there already: name another folder with --output-dir.`);
    }
  }
  const place = (name: string): string => {
    mkdirSync(dir, { recursive: true });
    return join(dir, name);
  };
  return {
    dir,
    addRequests({ url, mode }, { requests, wait_seconds, rep }, rows) {
      const lines = rows.map((row, request) =>
        JSON.stringify({ url, mode, requests, wait_seconds, rep, request, ...row }),
      );
      appendFileSync(place(RAW_FILE), lines.map((line) => `${line}\n`).join(""));
    },
    writeSummary: (rows) => writeFileSync(place(SUMMARY_FILE), renderTable(rows)),
    writeThroughput: (rows) => writeFileSync(place(THROUGHPUT_FILE), renderTable(rows)),
  };
}
