import { statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readManifest } from "@openenv-ts/providers/manifest";
import { type Command, Option } from "commander";
import { ConnectionError } from "openenv-ts/client";
import { ConfigError, parseAddress } from "openenv-ts/internal";
import { checkServer } from "openenv-ts/testing";
import { readSchemas } from "../project/read-schemas.js";
import { serverToken } from "../server-token.js";
import { abortOnSignals } from "../terminal/interrupt.js";
import { repeatable, secondsAboveZero, wholeNumber } from "../terminal/option-values.js";
import { exit, print, printError, printNote, printProgress } from "../terminal/output.js";
import { renderPackageReport } from "../validate/report/package-report.js";
import { LEVELS, type Level, PolicyError } from "../validate/report/policy.js";
import { type RunningReport, renderRunningReport, toRunningReport } from "../validate/report/running-report.js";
import { readActions } from "../validate/runtime-plan.js";
import { joinChecks, parseCheckId } from "../validate/runtime-results.js";
import type { Search } from "../validate/semantic/adversary.js";
import { saveCanary } from "../validate/semantic/canaries.js";
import { checkSemantics } from "../validate/semantic/run.js";
import type { StudiedEpisode } from "../validate/semantic/world.js";
import type { ServerChecking } from "../validate/validate-options.js";
import { validatePackage } from "../validate/validate-package.js";

const INTERNAL = 3;
const INTERRUPTED = 130;

const EXAMPLES = `
A folder is validated level by level: first its manifest, then its server, which is started with Node. A URL is that of
any running OpenEnv server, also one in Python. Validation briefly fills it up to its capacity or to --max-held.

Exit codes: 0 passed, with or without warnings, 1 failed, 2 invalid usage or not a package, 3 internal error or unknown
policy, 4 nothing failed but --level semantic was requested and something is unknown, 130 interrupted.

Examples:
  openenv validate
  openenv validate envs/echo --level static
  openenv validate --json --output report.json
  openenv validate --url http://localhost:8000 --actions actions.json
  openenv validate http://localhost:8000 --skip capacity --ignore observation.seen_at
  openenv validate --level semantic --adversary 60s
  openenv validate --url http://localhost:8000 --level semantic --package my_env`;

interface ValidateFlags {
  url?: string;
  level: Level;
  skipBuild?: boolean;
  policy?: string;
  actions?: string;
  ignore: string[];
  skip: string[];
  sessions: number;
  maxHeld: number;
  timeout: number;
  token?: string;
  json?: boolean;
  output?: string;
  package?: string;
  oracle?: string;
  adversary?: number;
}

export function configureValidate(command: Command): void {
  command
    .argument("[target]", "folder of a package, or URL of a running server", ".")
    .option("--url <url>", "URL of a server to validate instead of a folder")
    .addOption(
      new Option("--level <level>", "last level to validate at; a URL without it is not checked for semantics")
        .choices(LEVELS)
        .default("semantic"),
    )
    .option("--skip-build", "do not build an image; only run the server as a process")
    .option("--policy <version>", "policy that weights the checks: v1 (static only) or v2")
    .option("--actions <file>", "JSON list of actions to use instead of sampled ones")
    .option(
      "--ignore <path>",
      "field that is not deterministic, such as observation.seen_at; repeatable",
      repeatable,
      [],
    )
    .option("--skip <id>", "check to skip, such as capacity; repeatable", repeatableCheck, [])
    .option("--package <folder>", "folder with the openenv.yaml of the environment at a URL")
    .option("--oracle <file>", "module or executable that solves the tasks, instead of the declared one")
    .option("--adversary <time>", "time to search for reward without success, such as 60s", duration)
    .option("--sessions <number>", "number of sessions to open and close", wholeNumber(1, 100_000), 100)
    .option("--max-held <number>", "maximum number of concurrent sessions on a URL", wholeNumber(1, 100_000), 128)
    .option("--timeout <seconds>", "timeout of an HTTP request to a URL", secondsAboveZero, 5)
    .option("--token <token>", "bearer token for a URL (OPENENV_TOKEN)")
    .option("--json", "print the report as JSON")
    .option("--output <file>", "write the report as JSON to a file")
    .addHelpText("after", EXAMPLES)
    .action(validate);
}

/** Seconds of `60s`, `2m` or `60`. */
function duration(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(s|m)?$/.exec(text) ?? [];
  return secondsAboveZero(number ?? "") * (unit === "m" ? 60 : 1);
}

function repeatableCheck(value: string, previous: string[]): string[] {
  return repeatable(parseCheckId(value), previous);
}

/** Options that apply only to a folder, or only to a URL. */
const FOLDER_OPTIONS: readonly (keyof ValidateFlags)[] = ["skipBuild", "policy"];
const URL_OPTIONS: readonly (keyof ValidateFlags)[] = ["maxHeld", "timeout", "token", "package"];
const UNKNOWN = 4;

async function validate(target: string, flags: ValidateFlags, command: Command): Promise<void> {
  const url = findUrl(target, flags.url);
  rejectOtherOptions(command, url === undefined ? URL_OPTIONS : FOLDER_OPTIONS, url === undefined ? "URL" : "folder");
  const isGiven = command.getOptionValueSource("level") === "cli";
  if (url !== undefined && isGiven && flags.level !== "semantic")
    throw new ConfigError("--level only applies to a folder, except --level semantic; omit it.");
  const isRequested = flags.level === "semantic" && (isGiven || flags.adversary !== undefined);
  if (flags.output !== undefined) checkOutput(flags.output);
  using interrupt = abortOnSignals();
  try {
    const { report, text, passed } = url
      ? await validateUrl(url, { ...flags, isRequested }, interrupt.signal)
      : await validateFolder(target, { ...flags, isRequested }, interrupt.signal);
    const json = JSON.stringify(report, null, 2);
    print(flags.json ? json : text);
    if (flags.output !== undefined) await writeFile(flags.output, `${json}\n`);
    const isUnknown = "unknown" in report && (report.unknown as string[]).length > 0;
    exit(!passed ? 1 : isUnknown ? UNKNOWN : 0);
  } catch (error) {
    if (interrupt.signal.aborted) {
      printNote("interrupted; everything that was started is stopped");
      return exit(INTERRUPTED);
    }
    if (error instanceof ConfigError) throw error;
    printError((error as Error).message);
    exit(error instanceof PolicyError || !(error instanceof ConnectionError) ? INTERNAL : 1);
  }
}

interface Validated {
  report: object;
  text: string;
  passed: boolean;
}

type Requested = ValidateFlags & { isRequested: boolean };

async function validateFolder(dir: string, flags: Requested, signal: AbortSignal): Promise<Validated> {
  const found = collectFound();
  const report = await validatePackage(dir, {
    level: flags.level,
    policy: flags.policy,
    skipBuild: flags.skipBuild === true,
    actions: flags.actions === undefined ? undefined : await readActions(flags.actions),
    ignore: flags.ignore,
    leaveOut: flags.skip,
    rounds: flags.sessions,
    isRequested: flags.isRequested,
    oracle: flags.oracle,
    search: found.search(flags.adversary),
    signal,
    onProgress: printProgress,
  });
  // Afterwards, because a package must not change while it is validated.
  if (found.episodes.length > 0) await found.save(dir);
  return { report, text: renderPackageReport(report), passed: report.verdict !== "fail" };
}

async function validateUrl(url: string, flags: Requested, signal: AbortSignal): Promise<Validated> {
  const token = flags.token ?? serverToken();
  const options: ServerChecking = {
    ignore: flags.ignore,
    leaveOut: flags.skip,
    rounds: flags.sessions,
    maxHeld: flags.maxHeld,
    httpTimeoutMs: flags.timeout * 1000,
    signal,
    ...(token && { token }),
    ...(flags.actions !== undefined && { actions: await readActions(flags.actions) }),
  };
  printNote(warnOfLoad(url, flags));
  const server = await checkServer(url, options);
  if (!flags.isRequested) return rendered(toRunningReport(server));
  const found = collectFound();
  const manifest = flags.package === undefined ? undefined : await readManifest(flags.package, printNote);
  const validation = manifest?.validation;
  const semantic = await checkSemantics(
    parseAddress(url).base,
    { ...options, ignore: [...flags.ignore, ...(validation?.varies ?? [])] },
    {
      ...{ dir: flags.package, validation, oracle: flags.oracle, isRequested: true, made: server.checks },
      ...{ schemas: await readSchemas(url), search: found.search(flags.adversary) },
    },
  );
  if (found.episodes.length > 0) await found.save(flags.package);
  const checks = joinChecks(server.checks, semantic);
  const isSemantic = new Set(semantic.map(({ id }) => id));
  const unknown = checks.filter(
    ({ id, status, notApplicable }) => isSemantic.has(id) && status === "skipped" && !notApplicable,
  );
  const passed = checks.every(({ status }) => status !== "failed");
  return rendered({ ...toRunningReport({ ...server, checks, passed }), unknown: unknown.map(({ id }) => id) });
}

function rendered(report: RunningReport): Validated {
  return { report, text: renderRunningReport(report), passed: report.passed };
}

/** The seed of a search, so that it can be repeated. */
const SEARCH_SEED = 1;

/** Collects what a search finds, to save it. */
function collectFound() {
  const episodes: StudiedEpisode[] = [];
  return {
    episodes,
    search: (seconds: number | undefined): Search | undefined =>
      seconds === undefined ? undefined : { seconds, seed: SEARCH_SEED, onFound: (episode) => episodes.push(episode) },
    /** Adds the episodes to the declared canaries, or to `canaries.jsonl`. */
    save: async (dir: string | undefined): Promise<void> => {
      const manifest = dir === undefined ? undefined : await readManifest(dir, () => {});
      const file = join(dir ?? ".", manifest?.validation?.capabilities.canaries ?? "canaries.jsonl");
      for (const episode of episodes) saveCanary(file, episode);
      printNote(`the episode is saved in ${file}; declare it in validation.capabilities.canaries`);
    },
  };
}

/** Printed before the first session is opened, because the server may be in use. */
function warnOfLoad(url: string, { maxHeld, sessions, skip }: ValidateFlags): string {
  const full = `opens sessions until the server rejects one, up to ${maxHeld} at once`;
  const load = skip.includes("capacity") ? "opens up to 32 sessions at once" : full;
  const advice = skip.includes("capacity") ? "" : " If the server is in use, add --skip capacity.";
  return `validating ${url} ${load}, then ${sessions} more one after the other.${advice}`;
}

function rejectOtherOptions(command: Command, names: readonly string[], what: string): void {
  const option = command.options.find((one) => {
    const name = one.attributeName();
    return names.includes(name) && command.getOptionValueSource(name) === "cli";
  });
  if (option) throw new ConfigError(`${option.long} only applies to a ${what}; omit it.`);
}

/** Checks before the validation that the report can be written. */
function checkOutput(file: string): void {
  const hasFolder = statSync(dirname(resolve(file)), { throwIfNoEntry: false })?.isDirectory();
  if (hasFolder && !statSync(file, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new ConfigError(`Cannot write the report to ${file}; pass a file in an existing folder.`);
}

/** The URL, from the argument or from --url. */
function findUrl(target: string, url: string | undefined): string | undefined {
  const named = /^https?:\/\//i.test(target) ? target : undefined;
  if (url === undefined) return named;
  if (named !== undefined && named !== url) throw new ConfigError("Two different URLs are given; pass one.");
  if (named === undefined && target !== ".") throw new ConfigError("Pass a folder or --url, not both.");
  return url;
}
