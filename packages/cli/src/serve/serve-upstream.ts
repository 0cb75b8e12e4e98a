import { type Command, InvalidArgumentError } from "commander";
import { ConfigError } from "openenv-ts/internal";
import type { RunningServer, ServeOptions } from "openenv-ts/server";

/** The flags of `openenv serve --upstream`. */
export interface UpstreamFlags {
  upstream?: string[];
  upstreamFile?: string;
  processes?: number;
  upstreamSessions?: number;
  replaceAfter?: number;
  replaceAbove?: number;
  upstreamMemory?: number;
  upstreamStart?: number;
  replay?: boolean;
}

export function addUpstreamOptions(command: Command): Command {
  return command
    .option(
      "--upstream <what>",
      "serve environments of another server: its URL, or a command that starts it on PORT",
      collect,
    )
    .option("--upstream-file <file>", "file with one URL of an upstream in each line, read again when it changes")
    .option("--processes <count>", "how often to start the command of --upstream; default 1", positive)
    .option("--upstream-sessions <count>", "sessions that one upstream can have at once; default 1", positive)
    .option("--upstream-start <seconds>", "time within which an upstream must answer; default 120", positive)
    .option("--replace-after <episodes>", "replace a process after this number of episodes", positive)
    .option("--replace-above <mb>", "replace a process that has more memory, between two sessions", positive)
    .option("--upstream-memory <mb>", "limit of the memory of a process, by a cgroup", positive)
    .option("--replay", "make an episode again, from its seed, when its upstream dies");
}

/** The flags for upstreams, undefined where none names one, and the others. @throws ConfigError for a flag without an upstream. */
export function takeUpstreamFlags<Flags extends UpstreamFlags>(flags: Flags) {
  const { upstream, upstreamFile, ...others } = flags;
  const { processes, upstreamSessions, replaceAfter, replaceAbove, upstreamMemory, upstreamStart, replay, ...given } =
    others;
  const more = { processes, upstreamSessions, replaceAfter, replaceAbove, upstreamMemory, upstreamStart, replay };
  const named = upstream !== undefined || upstreamFile !== undefined;
  if (!named && Object.values(more).some((value) => value !== undefined)) {
    throw new ConfigError("--processes, --upstream-…, --replace-… and --replay need --upstream or --upstream-file.");
  }
  const set = Object.fromEntries(
    Object.entries({ upstream, upstreamFile, ...more }).filter(([, value]) => value !== undefined),
  );
  return { upstream: named ? (set as UpstreamFlags) : undefined, given };
}

/** Serves the upstreams that the flags name. @throws ConfigError for flags that exclude each other. */
export async function serveUpstreams(flags: UpstreamFlags, options: ServeOptions): Promise<RunningServer> {
  const { upstream = [], upstreamFile: file, processes, replay } = flags;
  const [urls, commands] = [upstream.filter(isUrl), upstream.filter((one) => !isUrl(one))];
  const [command] = commands;
  if (commands.length > 1 || (command !== undefined && (urls.length > 0 || file !== undefined))) {
    throw new ConfigError("--upstream takes one command, or URLs: start two servers for two kinds of upstreams.");
  }
  if (processes !== undefined && command === undefined) {
    throw new ConfigError('--processes needs a command: --upstream "python -m my_env".');
  }
  const { serveUpstreams: serve } = await import("@openenv-ts/upstream");
  const given = {
    ...(command !== undefined && { command, processes: processes ?? 1 }),
    ...(urls.length > 0 && { urls }),
    ...{ file, replay, sessionsPerUpstream: flags.upstreamSessions, replaceAfterEpisodes: flags.replaceAfter },
    ...{ replaceAboveMb: flags.replaceAbove, memoryLimitMb: flags.upstreamMemory },
    startTimeoutMs: flags.upstreamStart && flags.upstreamStart * 1000,
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return await serve(set, { ...options, handleSignals: true });
}

function isUrl(text: string): boolean {
  return /^(https?|wss?):\/\//i.test(text);
}

function positive(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("Give a positive integer.");
}

function collect(text: string, texts: readonly string[] = []): string[] {
  return [...texts, text];
}
