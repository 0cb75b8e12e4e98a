import { availableParallelism } from "node:os";
import { checkCommand } from "@openenv-ts/providers/internal";
import { ConfigError } from "openenv-ts";

/** Receives what happens to upstreams; a logger of pino fits. */
export interface FleetLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Either `command`, or `urls` and `file`. */
export interface FleetOptions {
  /** Starts one upstream. It must listen at `HOST` and `PORT` of its environment. No shell reads it. */
  command?: string | undefined;
  /** Number of processes that run the command; default 1. */
  processes?: number | undefined;
  /** Running upstreams, such as `http://host:8000`. */
  urls?: readonly string[] | undefined;
  /** A file with one URL in each line, which is watched; `#` begins a comment. */
  file?: string | undefined;
  /** Sessions that one upstream has at the same time; default 1. */
  sessionsPerUpstream?: number | undefined;
  /** Replaces a process after this number of episodes; default never. */
  replaceAfterEpisodes?: number | undefined;
  /** Replaces a process group that uses more memory, MiB; Linux only. Its session continues first. Default never. */
  replaceAboveMb?: number | undefined;
  /** The kernel ends a process group that uses more memory, MiB; needs cgroups. Default no limit. */
  memoryLimitMb?: number | undefined;
  /** Milliseconds until a started upstream must answer `GET /health`; default 120,000. */
  startTimeoutMs?: number | undefined;
  /** Milliseconds between two pings of an upstream; one that misses three of them hangs. Default 10,000. */
  pingIntervalMs?: number | undefined;
  /** Processes that start at the same time; default the number of cores. */
  startsAtOnce?: number | undefined;
  /** Aborts the start. */
  signal?: AbortSignal | undefined;
  log: FleetLog;
}

export type FleetSettings = Omit<FleetOptions, (typeof NUMBERS)[number] | "urls"> &
  Record<(typeof NUMBERS)[number], number> & { urls: readonly string[] };

const NUMBERS = ["processes", "sessionsPerUpstream", "startTimeoutMs", "pingIntervalMs", "startsAtOnce"] as const;
const OPTIONAL = ["replaceAfterEpisodes", "replaceAboveMb", "memoryLimitMb"] as const;
const FOR_PROCESSES = ["processes", "startsAtOnce", ...OPTIONAL] as const;
const MOST = 2 ** 31 - 1;

/** Adds the defaults. @throws ConfigError for an invalid value, and for options that exclude each other. */
export function readOptions(options: FleetOptions): FleetSettings {
  const { command, urls = [], file } = options;
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  if (command === undefined && file === undefined && urls.length === 0)
    throw new ConfigError("There is no upstream. Give a command, a URL, or a file with URLs.");
  if (command !== undefined && (file !== undefined || urls.length > 0))
    throw new ConfigError("Give either the command of upstreams or their URLs, not both.");
  if (command !== undefined) checkCommand(command);
  const forProcesses = FOR_PROCESSES.find((name) => command === undefined && given[name] !== undefined);
  if (forProcesses) throw new ConfigError(`${forProcesses} is for a command. Omit it for upstreams that are URLs.`);
  for (const name of [...NUMBERS, ...OPTIONAL]) {
    const value: unknown = given[name] ?? 1;
    if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MOST) continue;
    throw new ConfigError(`${name} must be a positive integer, got ${JSON.stringify(value)}.`);
  }
  return { ...DEFAULTS, startsAtOnce: availableParallelism(), ...given, urls: urls.map(readUrl), log: options.log };
}

const DEFAULTS = { processes: 1, sessionsPerUpstream: 1, startTimeoutMs: 120_000, pingIntervalMs: 10_000 };

/** The URL of an upstream without a slash at its end. @throws ConfigError when it is not `http://host:port`. */
export function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    url && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (isPlain) return url.href.replace(/\/+$/, "");
  // A password in a URL must not be in a log.
  const shown = JSON.stringify(text.replace(/\/\/[^/]*@/, "//…@"));
  throw new ConfigError(`${shown} is not the URL of an upstream. Use http://host:port, without a user and a query.`);
}
