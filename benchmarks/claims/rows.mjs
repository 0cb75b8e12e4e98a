/** The rows of reports, and values computed from them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { medianOf, ratioOf } from "@openenv-ts/bench";

/** `steps: ours / python`, `steps: ours`, or with the name of the report first: `one-server steps: ours`. */
const EXPRESSION = /^(?:(?<report>[\w-]+) )?(?<row>[\w-]+): (?<subject>[^/]+?)(?: \/ (?<other>[^/]+))?$/;

/** Reads `row,unit,round,subject,value`; returns the samples of each row. */
export function readRows(csv) {
  const rows = new Map();
  for (const line of csv.trimEnd().split("\n").slice(1)) {
    const [, row, round, subject, value] = /^([^,]*),.*?,(\d+),("(?:[^"]|"")*"|[^,]*),([^,]*)$/.exec(line) ?? [];
    if (row === undefined) throw new Error(`not a row of samples: ${line}`);
    const samples = rows.get(row) ?? rows.set(row, {}).get(row);
    const name = subject.replace(/^"|"$/g, "").replaceAll('""', '"');
    (samples[name] ??= [])[Number(round) - 1] = Number(value);
  }
  return rows;
}

/** The value of an expression. @throws Error when there is no such row or subject. */
export function evaluate(expression, rowsOf) {
  const { report, row, subject, other } = EXPRESSION.exec(expression)?.groups ?? {};
  if (row === undefined) throw new Error(`"${expression}" is not "[report ]row: subject[ / other]"`);
  const samples = rowsOf(report).get(row);
  if (samples === undefined) throw new Error(`there is no row "${row}"`);
  for (const name of [subject, other]) {
    if (name !== undefined && !(name in samples)) throw new Error(`the row "${row}" has no subject "${name}"`);
  }
  return other === undefined ? medianOf(samples, subject) : ratioOf(samples, subject, other);
}

/** The reports of a folder, by the name of their benchmark: where each is, its facts and its rows. */
export class Reports {
  #root;
  #rows = new Map();

  constructor(root) {
    this.#root = root;
  }

  rows(name) {
    if (!this.#rows.has(name)) this.#rows.set(name, readRows(this.#read(`results/${name}.csv`)));
    return this.#rows.get(name);
  }

  /** A fact of the head of a report, such as its commit. */
  fact(name, fact) {
    return new RegExp(`^- ${fact}: (.+)$`, "m").exec(this.#read(`reports/${name.toUpperCase()}.md`))?.[1];
  }

  #read(path) {
    return readFileSync(join(this.#root, "benchmarks", path), "utf8");
  }
}
