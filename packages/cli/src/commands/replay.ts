import type { Command } from "commander";
import { connect, connectTools, OpenEnvError } from "openenv-ts/client";
import { ConfigError, checker, loadReplay } from "openenv-ts/internal";
import { findEnvironment } from "../project/find-environment.js";
import { loadEnvironment } from "../project/load-environment.js";
import { type Recording, readRecordings, withSeeds } from "../replay/recordings.js";
import { type EpisodeDifference, type Player, replayEpisode } from "../replay/replay-episode.js";
import { serverToken } from "../server-token.js";
import { repeatable, wholeNumber } from "../terminal/option-values.js";
import { exit, print, printProgress } from "../terminal/output.js";

/** Differences, and episodes that are skipped, that are printed; all are counted. */
const MAX_PRINTED = 20;

const EXAMPLES = `
Each episode is played again in a new session, up to its first difference: the event, the field and both values.
Of a session in a journal or on a server, this is the episode since its last reset. The session is only read.
A session of a server needs its token in OPENENV_SESSION_TOKEN, or the operator's in OPENENV_TOKEN.

Exit codes: 0 all episodes are equal, 1 some differ, 2 invalid usage, an invalid file, or nothing to compare.

Examples:
  openenv replay episodes.jsonl
  openenv replay episodes.jsonl envs/echo --ignore observation.seen_at
  openenv replay episodes.jsonl --against http://localhost:8000
  openenv replay sessions.db
  openenv replay redis://localhost:6379 envs/echo
  openenv replay http://localhost:8000 --session w0-1f2e...`;

interface ReplayFlags {
  against?: string;
  session?: string;
  ignore: string[];
  parallel: number;
  json?: boolean;
}

/** The result of a recording without its events: there may be more than the memory holds. */
interface Result extends Pick<Recording, "where" | "key" | "reason"> {
  /** Number of events that were played. */
  played: number;
  difference: EpisodeDifference | undefined;
}

export function configureReplay(command: Command): void {
  command
    .argument(
      "<source>",
      "episodes of openenv collect or of the page; a journal: its file, or redis://host:6379; or the URL of a server",
    )
    .argument("[environment]", "module or folder of the environment; default: the current folder")
    .option("--against <url>", "URL of a server to replay against instead")
    .option("--session <id>", "session of the server, or of the journal")
    .option("--ignore <path>", "field not to compare, such as observation.seen_at; repeatable", repeatable, [])
    .option("--parallel <number>", "concurrent sessions", wholeNumber(1, 4096), 8)
    .option("--json", "print the result as JSON")
    .addHelpText("after", EXAMPLES)
    .action(run);
}

async function run(source: string, given: string | undefined, flags: ReplayFlags): Promise<void> {
  const { against, session, ignore, parallel, json } = flags;
  if (given !== undefined && against !== undefined) {
    throw new ConfigError("Pass an environment or --against, not both.");
  }
  const { name, open } = await findTarget(given ?? ".", against);
  const read: Result[] = [];
  const recordings = readRecordings(source, session);
  const work = async (): Promise<void> => {
    for await (const recording of recordings) {
      const { where, key, environment = name, reason } = recording;
      if (environment !== name) {
        const what = `${where} is an episode of ${environment}, not of ${name}`;
        throw new ConfigError(`${what}: pass the environment that it was recorded with, or --against its server.`);
      }
      const result: Result = { where, key, reason, played: 0, difference: undefined };
      read.push(result);
      if (reason !== undefined) continue;
      const replayed = await compared(where, async () => {
        await using env = await open(recording);
        return await replayEpisode(env, against === undefined ? recording.events : withSeeds(recording), ignore);
      });
      Object.assign(result, replayed);
      printProgress(`${read.length} episodes`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  const skipped = read.filter(({ reason }) => reason !== undefined);
  const different = read.filter(({ difference }) => difference !== undefined);
  const episodes = read.length - skipped.length;
  const events = read.reduce((sum, { played }) => sum + played, 0);
  const summary = { episodes, events, different: different.length, skipped: skipped.length };
  const [differences, skips] = [different, skipped].map((list) => list.slice(0, MAX_PRINTED)) as [Result[], Result[]];
  print(
    json
      ? JSON.stringify({
          ...summary,
          differences: differences.map(({ key, difference }) => ({ ...key, difference })),
          skips: skips.map(({ key, reason }) => ({ ...key, reason })),
        })
      : [...skips.map(renderSkip), ...differences.map(renderDifference), renderSummary(summary)].join("\n"),
  );
  exit(different.length > 0 ? 1 : episodes > 0 ? 0 : 2);
}

interface Target {
  /** The name of the environment. */
  name: string;
  open(recording: Recording): Promise<Player & AsyncDisposable>;
}

async function findTarget(given: string, against: string | undefined): Promise<Target> {
  if (against === undefined) {
    const environment = await loadEnvironment(await findEnvironment(given));
    const { connectUntyped } = await loadReplay();
    return { name: environment.contract.name, open: ({ repeats }) => connectUntyped(environment, repeats) };
  }
  const options = { check: false, token: serverToken() };
  const { name } = await compared(against, async () => {
    await using env = await connect(against, options);
    return await env.metadata();
  });
  const open: Target["open"] = ({ events }) =>
    events.some(({ kind }) => kind === "tool")
      ? connectTools(against, { ...options, mode: "production" })
      : connect(against, options);
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

/** The episode of a file has a number; a session has its name already. */
function nameOf({ where, key }: Result): string {
  return "episode" in key ? `${where}: episode ${key.episode}` : where;
}

function renderSkip(result: Result): string {
  return `${nameOf(result)} is skipped: ${result.reason}`;
}

function renderDifference(result: Result): string {
  const { event, kind, field, recorded, replayed, message } = result.difference as EpisodeDifference;
  const now = message === undefined ? checker.show(replayed) : `${replayed}: ${message}`;
  return `${nameOf(result)}, event ${event} (${kind}): ${field} was ${checker.show(recorded)}, now ${now}`;
}

function renderSummary({ episodes, events, different, skipped }: Record<string, number>): string {
  const result = episodes === 0 ? "none could be compared" : different === 0 ? "all equal" : `${different} differ`;
  return `${episodes} episodes, ${events} events: ${result}${skipped === 0 ? "" : `; ${skipped} skipped`}`;
}
