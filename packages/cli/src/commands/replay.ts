import type { Command } from "commander";
import { connect, type EnvClient } from "openenv-ts/client";
import { ConfigError, loadInProcess, OpenEnvError, show } from "openenv-ts/internal";
import { readEpisodes } from "../collect/episode-file.js";
import { findEnvironment } from "../project/find-environment.js";
import { loadEnvironment } from "../project/load-environment.js";
import { type EpisodeDifference, hasNoEpisode, replayEpisode } from "../replay/replay-episode.js";
import { serverToken } from "../server-token.js";
import { repeatable, wholeNumber } from "../terminal/option-values.js";
import { exit, print, printProgress } from "../terminal/output.js";

/** Differences that are printed; all are counted. */
const MOST_PRINTED = 20;

const EXAMPLES = `
Each episode is played again in a new session, up to its first difference: the event, the field and both values.

Exit codes: 0 all episodes are equal, 1 some differ, 2 invalid usage, an invalid file, or no answer to compare.

Examples:
  openenv replay episodes.jsonl
  openenv replay episodes.jsonl envs/echo --ignore observation.seen_at
  openenv replay episodes.jsonl --against http://localhost:8000`;

interface ReplayFlags {
  against?: string;
  ignore: string[];
  parallel: number;
  json?: boolean;
}

interface EpisodeResult {
  line: number;
  episode: number;
  events: number;
  difference: EpisodeDifference | undefined;
}

export function configureReplay(command: Command): void {
  command
    .argument("<file>", "episodes, written by openenv collect or exported by the page")
    .argument("[environment]", "module or folder of the environment; default: the current folder")
    .option("--against <url>", "URL of a server to replay against instead")
    .option("--ignore <path>", "field not to compare, such as observation.seen_at; repeatable", repeatable, [])
    .option("--parallel <number>", "concurrent sessions", wholeNumber(1, 4096), 8)
    .option("--json", "print the result as JSON")
    .addHelpText("after", EXAMPLES)
    .action(run);
}

async function run(file: string, given: string | undefined, flags: ReplayFlags): Promise<void> {
  const { against, ignore, parallel, json } = flags;
  if (given !== undefined && against !== undefined) {
    throw new ConfigError("Pass an environment or --against, not both.");
  }
  const { name, open } = await findTarget(given ?? ".", against);
  const results: EpisodeResult[] = [];
  let skipped = 0;
  const episodes = readEpisodes(file);
  const work = async (): Promise<void> => {
    for (const { line, record } of episodes) {
      const where = `${file}:${line}`;
      if (record.environment !== name) {
        const what = `${where} is an episode of ${record.environment}, not of ${name}`;
        throw new ConfigError(`${what}: pass the environment that it was recorded with, or --against its server.`);
      }
      if (hasNoEpisode(record)) {
        skipped++;
        continue;
      }
      const replayed = await compared(where, async () => {
        await using env = await open();
        return await replayEpisode(env, record, ignore);
      });
      results.push({ line, episode: record.episode, ...replayed });
      printProgress(`${results.length} episodes`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  results.sort((a, b) => a.line - b.line);
  const different = results.filter(({ difference }) => difference !== undefined);
  const events = results.reduce((sum, result) => sum + result.events, 0);
  const summary = { episodes: results.length, events, different: different.length, skipped };
  const differences = different.slice(0, MOST_PRINTED);
  print(
    json
      ? JSON.stringify({ ...summary, differences: differences.map(({ events: _, ...rest }) => rest) })
      : [...differences.map((result) => render(file, result)), renderSummary(summary)].join("\n"),
  );
  exit(different.length > 0 ? 1 : 0);
}

interface Target {
  /** The name of the environment. */
  name: string;
  open(): Promise<EnvClient>;
}

async function findTarget(given: string, against: string | undefined): Promise<Target> {
  if (against === undefined) {
    const environment = await loadEnvironment(await findEnvironment(given));
    const { connectUntyped } = await loadInProcess();
    return { name: environment.contract.name, open: () => connectUntyped(environment) };
  }
  const open = () => connect(against, { check: false, token: serverToken() });
  const { name } = await compared(against, async () => {
    await using env = await open();
    return await env.metadata();
  });
  return { name, open };
}

/** @throws ConfigError when there was no answer: that is not a difference. */
async function compared<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof OpenEnvError)) throw error;
    throw new ConfigError(`${what} could not be compared: ${error.message}`, { cause: error });
  }
}

function render(file: string, { line, episode, difference }: EpisodeResult): string {
  const { event, kind, field, recorded, replayed, message } = difference as EpisodeDifference;
  const now = message === undefined ? show(replayed) : `${replayed}: ${message}`;
  return `${file}:${line}: episode ${episode}, event ${event} (${kind}): ${field} was ${show(recorded)}, now ${now}`;
}

function renderSummary({ episodes, events, different, skipped }: Record<string, number>): string {
  const result = different === 0 ? "all equal" : `${different} differ`;
  const left = skipped === 0 ? "" : `; ${skipped} without an episode skipped`;
  return `${episodes} episodes, ${events} events: ${result}${left}`;
}
