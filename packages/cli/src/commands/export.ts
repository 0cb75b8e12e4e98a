import { realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { ConfigError } from "openenv-ts/internal";
import { type Exported, exportEpisodes, exportPairs } from "../export/export-episodes.js";
import { FORMS, PREFERENCE } from "../export/forms.js";
import { exit, print, printError } from "../terminal/output.js";

const EXAMPLES = `
parquet         all columns of the episodes, also of failed ones
trl-sft         messages and tools for SFTTrainer of TRL
trl-preference  for each group of equal starts, its best episode as chosen and its worst one as rejected
trl-grpo        the starts of the episodes, to play again with for_trl
verifiers       traces.jsonl of the package verifiers

Failed episodes are left out, except from parquet. The summary counts what was left out, and why.

Exit codes: 0 success, 1 no episode was left, 2 invalid usage or an invalid file.

Examples:
  openenv export episodes.jsonl --to trl-sft --min-reward 1
  openenv export echo.jsonl wordle.jsonl --to parquet -o all.parquet`;

const NAMES = ["parquet", "trl-sft", "trl-preference", "trl-grpo", "verifiers"] as const;

interface ExportFlags {
  to: (typeof NAMES)[number];
  output?: string;
  minReward?: number;
  json?: boolean;
}

export function configureExport(command: Command): void {
  command
    .argument("<files...>", "episodes of openenv collect or of the page")
    .addOption(new Option("--to <form>", "what to write").choices(NAMES).makeOptionMandatory())
    .option("-o, --output <file>", "file to write; default: episodes.parquet, sft.parquet and so on")
    .option("--min-reward <number>", "leave out episodes with a lower total reward", finite)
    .option("--json", "print the summary as JSON")
    .addHelpText("after", EXAMPLES)
    .action(run);
}

async function run(files: string[], { to, minReward, json, ...flags }: ExportFlags): Promise<void> {
  const form = to === "trl-preference" ? undefined : FORMS[to];
  const output = flags.output ?? (form ?? PREFERENCE).file;
  rejectOutput(output, files);
  const options = { files, output, minReward };
  const exported = await (form === undefined ? exportPairs(options) : exportEpisodes(form, options));
  if (exported.rows === 0) {
    printError(`${output} was not written: no row is left of ${renderCounts(exported)}.`);
  } else
    print(
      json
        ? JSON.stringify({ output, to, ...exported })
        : `${output}: ${exported.rows} rows of ${renderCounts(exported)}`,
    );
  exit(exported.rows === 0 ? 1 : 0);
}

function rejectOutput(output: string, files: readonly string[]): void {
  const folder = dirname(output);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(`No such folder: ${folder}. Create it, or pass a file in an existing folder.`);
  }
  const found = statSync(output, { throwIfNoEntry: false });
  if (found === undefined) return;
  const target = realpathSync(output);
  const same = files.some((file) => statSync(file, { throwIfNoEntry: false }) && realpathSync(file) === target);
  if (same || !found.isFile()) {
    throw new ConfigError(`${output} is ${same ? "one of the files to export" : "not a file"}; pass another --output.`);
  }
}

function renderCounts({ episodes, dropped }: Exported): string {
  const reasons = Object.entries(dropped).map(([reason, count]) => `${count} ${reason}`);
  return `${episodes} episodes${reasons.length > 0 ? ` (left out: ${reasons.join(", ")})` : ""}`;
}

function finite(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("Must be a number.");
}
