import { once } from "node:events";
import { createWriteStream, existsSync } from "node:fs";
import { type Command, Option } from "commander";
import { ConfigError, loadArchive, toColumns } from "openenv-ts/internal";
import {
  type EpisodeRecord,
  type EpisodeRow,
  type FailureRow,
  type GroupRow,
  parseRolloutQuery,
  renderEpisode,
} from "openenv-ts/protocol";
import { PREFERENCE, pairOf } from "../export/forms.js";
import { openRowFile } from "../export/row-file.js";
import { toTraces } from "../export/verifiers.js";
import { readRollouts } from "../rollouts/import-file.js";
import { wholeNumber } from "../terminal/option-values.js";
import { exit, print, printNote } from "../terminal/output.js";
import { renderTable } from "../terminal/render-table.js";

const EXAMPLES: Record<string, string> = {
  ls: `openenv rollouts ls "run:grpo-17 outcome:failed" --sort -steps
  openenv rollouts ls --by failure`,
  show: "openenv rollouts show 3f2a90c41b7de856",
  export: `openenv rollouts export "reward:>0.9" -o best.jsonl
  openenv rollouts export --to verifiers -o traces.jsonl
  openenv rollouts export --pairs "run:grpo-17" -o pairs.parquet`,
  import: "openenv rollouts import episodes.jsonl",
  rm: 'openenv rollouts rm "before:2026-01-01"',
};
const HELP = `
A query is what the page has in its address: reward:<0.2 outcome:failed run:grpo-17 "some text".

Exit codes: 0 success, 1 nothing was found, 2 invalid usage, an invalid file, or a store that cannot be used.

Examples:
${Object.values(EXAMPLES)
  .map((lines) => `  ${lines}`)
  .join("\n")}`;

const MAX_SHOWN = 200;
/** Episodes that one transaction adds. */
const BATCH = 100;
const MAX_PAGE = 1_000;

interface StoreFlags {
  store: string;
}

interface ListFlags extends StoreFlags {
  by: "episode" | "group" | "failure";
  sort?: string;
  limit: number;
  json?: boolean;
}

interface ExportFlags extends StoreFlags {
  to: string;
  pairs?: boolean;
  output: string;
}

export function configureRollouts(command: Command): void {
  const add = (name: string, summary: string): Command =>
    command
      .command(name)
      .description(summary)
      .addHelpText("after", `\nExamples:\n  ${EXAMPLES[name]}`)
      .addOption(new Option("--store <folder>", "folder of the store").env("OPENENV_STORE").default("./openenv-data"));
  add("ls", "list episodes, groups or failures")
    .argument("[query]", "what to list", "")
    .addOption(new Option("--by <what>", "rows").choices(["episode", "group", "failure"]).default("episode"))
    .option("--sort <column>", 'such as reward or steps; with "-" before it the greatest first')
    .option("--limit <number>", "rows", wholeNumber(1, MAX_PAGE), 50)
    .option("--json", "print the rows as JSON")
    .action(list);
  add("show", "show what happened in an episode")
    .argument("<id>", "name of the episode")
    .option("--json", "print it as JSON")
    .action(show);
  add("export", "write episodes to a file")
    .argument("[query]", "what to write", "")
    .addOption(new Option("--to <form>", "form of the lines").choices(["episodes", "verifiers"]).default("episodes"))
    .addOption(
      new Option("--pairs", "write preference pairs as Parquet, those whose chosen episode matches").conflicts("to"),
    )
    .requiredOption("-o, --output <file>", "file to write, which must not exist")
    .action((q: string, flags: ExportFlags) => (flags.pairs ? writePairs(q, flags) : write(q, flags)));
  add("import", "add the episodes of files of ours or of verifiers")
    .argument("<files...>", "files of JSON lines")
    .action(importFiles);
  add("rm", "delete episodes, for ever")
    .argument("<query-or-ids...>", "names of episodes, or one query")
    .action(remove);
  command.addHelpText("after", HELP);
}

async function list(q: string, { store, by, sort, limit, json }: ListFlags): Promise<void> {
  checkQuery(q);
  const archive = await (await loadArchive())(store, "read");
  try {
    const { rows, total } = archive.list({ q, by, sort, limit });
    if (json) print(JSON.stringify(rows));
    else if (rows.length > 0) print(renderRows(rows, by));
    printNote(total > rows.length ? `${rows.length} of ${total}` : `${total} found`);
    exit(total === 0 ? 1 : 0);
  } finally {
    archive.close();
  }
}

async function show(id: string, { store, json }: StoreFlags & { json?: boolean }): Promise<void> {
  const archive = await (await loadArchive())(store, "read");
  try {
    const detail = archive.detail(id);
    if (detail === undefined) throw new ConfigError(`There is no episode "${id}" in ${store}.`);
    if (json) return print(JSON.stringify(detail));
    const { episode, events, complete } = detail;
    print(renderRows([episode], "episode"));
    if (!complete) printNote("it runs, or a part of it was not recorded");
    for (const { event, type, request, answer, error, reward, tool } of events) {
      const head = [`${event} ${type}`, tool, reward !== null && `reward ${reward}`].filter(Boolean).join(" · ");
      const result = error ? `${error.code}: ${error.message}` : JSON.stringify(answer?.observation ?? null);
      print(`${head}\n  ${clip(JSON.stringify(request))}\n  ${clip(result)}`);
    }
  } finally {
    archive.close();
  }
}

async function write(q: string, { store, to, output }: ExportFlags): Promise<void> {
  checkQuery(q);
  const archive = await (await loadArchive())(store, "read");
  const file = createWriteStream(output, { flags: "wx" });
  try {
    await once(file, "open");
    let written = 0;
    for (const id of archive.ids(q)) {
      const record = archive.record(id, written);
      // It was deleted meanwhile.
      if (record === undefined) continue;
      written++;
      if (!file.write(`${to === "verifiers" ? renderTrace(record) : renderEpisode(record)}\n`))
        await once(file, "drain");
    }
    printNote(`${written} episodes`);
    await new Promise<void>((resolve) => file.end(() => resolve()));
    exit(written === 0 ? 1 : 0);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw code === undefined || cause instanceof ConfigError
      ? cause
      : new ConfigError(`Cannot write ${output}: ${message}`);
  } finally {
    archive.close();
  }
}

async function writePairs(q: string, { store, output }: ExportFlags): Promise<void> {
  checkQuery(q);
  if (existsSync(output)) throw new ConfigError(`${output} exists: pass another file.`);
  const archive = await (await loadArchive())(store, "read");
  const file = openRowFile(output, await PREFERENCE.writer());
  try {
    let written = 0;
    for (const { chosen, rejected, shared } of archive.pairs(q)) {
      const row = pairOf(chosen, rejected, shared);
      file.write(row, JSON.stringify(row).length);
      written++;
    }
    if (written > 0) file.finish();
    printNote(`${written} pairs`);
    exit(written === 0 ? 1 : 0);
  } finally {
    file.discard();
    archive.close();
  }
}

async function importFiles(files: string[], { store }: StoreFlags): Promise<void> {
  // All files are read first: a bad line adds nothing.
  for (const file of files) for await (const _ of readRollouts(file));
  const archive = await (await loadArchive())(store, "write");
  try {
    let count = 0;
    let batch: EpisodeRecord[] = [];
    const flush = (): void => {
      archive.add(batch);
      count += batch.length;
      batch = [];
    };
    for (const file of files) {
      for await (const record of readRollouts(file)) {
        batch.push(record);
        if (batch.length === BATCH) flush();
      }
    }
    flush();
    print(`${count} episodes were added to ${store}`);
  } finally {
    archive.close();
  }
}

async function remove(given: string[], { store }: StoreFlags): Promise<void> {
  const archive = await (await loadArchive())(store, "write");
  try {
    const isNamed = given.every((one) => /^[0-9a-f]{16}$/.test(one));
    const q = given.join(" ");
    if (!isNamed) checkQuery(q);
    if (q.trim() === "") throw new ConfigError("An empty query would delete all episodes: delete the folder instead.");
    const removed = archive.remove(isNamed ? given : archive.ids(q));
    print(`${removed} episodes were deleted`);
    exit(removed === 0 ? 1 : 0);
  } finally {
    archive.close();
  }
}

function checkQuery(q: string): void {
  const [first] = parseRolloutQuery(q).errors;
  if (first !== undefined) throw new ConfigError(`The query cannot be read at ${first.term}: ${first.message}`);
}

function renderTrace(record: EpisodeRecord): string {
  return JSON.stringify(toTraces(record, toColumns(record)));
}

function renderRows(rows: readonly (EpisodeRow | GroupRow | FailureRow)[], by: ListFlags["by"]): string {
  const number = (value: number | null): string => (value === null ? "" : String(Math.round(value * 1000) / 1000));
  if (by === "failure") {
    const cells = (rows as FailureRow[]).map(({ key, count, code, tool, text }) => [
      key,
      String(count),
      tool ?? code,
      text,
    ]);
    return renderTable(["key", "episodes", "of", "failure"], cells);
  }
  if (by === "group") {
    const cells = (rows as GroupRow[]).map(({ group, run, count, mean, deviation, noSignal }) => [
      ...[group, run ?? "", String(count), number(mean), noSignal ? "no signal" : number(deviation)],
    ]);
    return renderTable(["group", "run", "episodes", "mean", "spread"], cells);
  }
  const cells = (rows as EpisodeRow[]).map(({ id, env, run, group, outcome, steps, reward, startedAt, note }) => [
    ...[id, new Date(startedAt).toISOString().slice(0, 19), env, run ?? "", group ?? ""],
    ...[outcome, String(steps), number(reward), note],
  ]);
  return renderTable(["id", "started", "environment", "run", "group", "outcome", "steps", "reward", "note"], cells);
}

function clip(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
