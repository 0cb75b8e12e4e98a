import { MAX_MESSAGE_ITEMS } from "../../protocol/codec/json.js";
import { RESTORE_DEFAULTS } from "../../session/restore/limits.js";
import { RESUME_DEFAULTS } from "../../session/resume/resumptions.js";
import { parseHosts, parseOrigins } from "../access/origins.js";
import type { ServeOptions } from "../types.js";
import {
  choice,
  flag,
  inSeconds,
  integer,
  type Kind,
  list,
  MAX_SECONDS,
  MIN_SECONDS,
  number,
  type Setting,
  seconds,
  sessionTimeout,
  setting,
  text,
  timeout,
  webInterface,
  workers,
} from "./setting.js";

const MAX_MS = MAX_SECONDS * 1000;
const MAX_BYTES = 512 * 1024 * 1024;
const MAX_COUNT = 10_000_000;
const hosts = (variable: string): Kind<string[]> =>
  list("host names without a port", (names) => parseHosts(variable, names));

/** Any value: the isolation of the environment checks it when it loads the module. */
const module: Kind<URL | string> = { expects: "a URL or a path", parse: (given) => given as URL | string };

/**
 * Every setting of a server but the {@link TOKENS}: the option of `serve()`, its variable, its flag of `openenv serve`, its
 * default, its limits and its description. Those in {@link VARIABLES_ONLY} have no option.
 */
export const SETTINGS = {
  host: setting({
    variable: "HOST",
    kind: text,
    fallback: "127.0.0.1",
    flag: "<address>",
    help: "address to listen on",
    more: "`0.0.0.0` to be reachable from other machines",
  }),
  port: setting({
    variable: "PORT",
    kind: integer(0, 65_535),
    fallback: 8000,
    flag: "<number>",
    help: "port to listen on, 0 for a free one",
  }),
  mode: setting({
    variable: "OPENENV_MODE",
    kind: choice(["simulation", "production"]),
    fallback: "simulation",
    flag: "<mode>",
    help: "production leaves out HTTP reset, step and state",
  }),
  maxConcurrentEnvs: setting({
    variable: "MAX_CONCURRENT_ENVS",
    kind: integer(1, MAX_COUNT),
    fallback: undefined,
    shown: "100",
    flag: "<number>",
    help: "sessions at once",
    more: "1 for an environment that does not support concurrent sessions",
  }),
  sessionTimeout: setting({
    variable: "SESSION_TIMEOUT",
    kind: sessionTimeout,
    fallback: 900,
    flag: "<seconds>",
    help: 'end a session without a socket after this long without a request, or "none"',
    more: "`null` in code is never. Also how long a [resumable session](../guide/sessions-that-survive.md) is kept without a connection. A session that `POST /reset` opened ends [after 300 s](../design/http-sessions.md), or RESUME_GUARANTEE if that is longer, when another client needs its slot",
  }),
  sessionIdleTimeout: setting({
    variable: "SESSION_IDLE_TIMEOUT",
    kind: timeout,
    fallback: undefined,
    flag: "<seconds>",
    help: "after this long without a request, a session whose client keeps its connection gives way to another client",
    more: "[it ends, or is detached](../guide/sessions.md#when-a-session-ends), never during a call, and only while another client needs its slot",
  }),
  resumeGuarantee: setting({
    variable: "RESUME_GUARANTEE",
    kind: timeout,
    fallback: RESUME_DEFAULTS.guaranteeMs / 1000,
    flag: "<seconds>",
    help: "how long a resumable session without a connection keeps its slot while another client needs one",
    more: "at most SESSION_TIMEOUT",
  }),
  resumeAnswers: setting({
    variable: "RESUME_ANSWERS",
    kind: integer(1, 10_000),
    fallback: RESUME_DEFAULTS.answers,
    flag: "<number>",
    help: "answers that the client of a resumable session may leave without acknowledgement",
  }),
  resumeBytes: setting({
    variable: "RESUME_BYTES",
    kind: integer(1024, 1024 ** 4),
    fallback: RESUME_DEFAULTS.bytes,
    flag: "<number>",
    help: "bytes of stored requests and answers, per worker",
    more: "one session may fill a 32nd of it; when all are used up, [no new session becomes resumable](../guide/sessions-that-survive.md#how-long-the-server-keeps-a-session); see [memory](../design/backlog.md#ceiling)",
  }),
  snapshotBytes: setting({
    variable: "SNAPSHOT_BYTES",
    kind: integer(1024, MAX_BYTES),
    fallback: RESTORE_DEFAULTS.snapshotBytes,
    flag: "<number>",
    help: "largest snapshot of an environment, bytes",
  }),
  replayEvents: setting({
    variable: "REPLAY_EVENTS",
    kind: integer(1, MAX_COUNT),
    fallback: RESTORE_DEFAULTS.replayEvents,
    flag: "<number>",
    help: "events of an episode that are kept for a replay",
    more: "a longer episode cannot be restored",
  }),
  replayTimeout: setting({
    variable: "REPLAY_TIMEOUT",
    kind: timeout,
    fallback: RESTORE_DEFAULTS.replayMs / 1000,
    flag: "<seconds>",
    help: "how long a replay, or a restore() of an environment, may take",
  }),
  historyBytes: setting({
    variable: "HISTORY_BYTES",
    kind: integer(1024, MAX_BYTES),
    fallback: RESTORE_DEFAULTS.historyBytes,
    flag: "<number>",
    help: "bytes that a session keeps of its past: events for a replay, or states",
    more: "see [`history`](../guide/restore-and-fork.md#fork-from-an-earlier-step)",
  }),
  allowedOrigins: setting({
    variable: "ALLOWED_ORIGINS",
    kind: list("web origins such as https://example.org", parseOrigins),
    fallback: [],
    shown: "the server's own",
    help: "additional web origins that may use the server, comma separated",
    more: "`*` for all, under any name",
  }),
  allowedHosts: setting({
    variable: "ALLOWED_HOSTS",
    kind: hosts("ALLOWED_HOSTS"),
    fallback: [],
    flag: "<names>",
    help: "names under which pages may use the server, comma separated",
    more: "without a port; see [host names](../guide/authorization.md#host-names-and-dns-rebinding). Those of `SPACE_HOST` are added",
  }),
  webInterface: setting({
    variable: "ENABLE_WEB_INTERFACE",
    kind: webInterface,
    fallback: "auto",
    help: "the page at /web/: auto, true or false",
    more: "auto serves it in simulation mode, see [web interface](../guide/web.md)",
  }),
  orsSeeds: setting({
    variable: "ORS_SEEDS",
    kind: integer(1, 100_000),
    fallback: 1000,
    flag: "<number>",
    help: "tasks of an environment without tasks for clients of ORS: a seed each",
  }),
  readmePath: setting({
    variable: "ENV_README_PATH",
    kind: text,
    fallback: undefined,
    help: "path of the README that the page shows",
    more: "without one, the `readme` of the definition",
  }),
  maxMessageBytes: setting({
    variable: "MAX_MESSAGE_BYTES",
    kind: integer(1024, MAX_BYTES),
    fallback: 16 * 1024 * 1024,
    help: "largest frame or body, bytes",
    more: "a larger frame closes its socket with 1009",
  }),
  maxMessageItems: setting({
    variable: "MAX_MESSAGE_ITEMS",
    kind: integer(1000, MAX_BYTES),
    fallback: MAX_MESSAGE_ITEMS,
    help: "values and keys that one frame or body may contain",
    more: "see [large messages](../guide/limits.md#large-messages)",
  }),
  pingIntervalMs: setting({
    variable: "PING_INTERVAL",
    kind: number(1, MAX_MS),
    variableKind: inSeconds(MIN_SECONDS),
    fallback: 20_000,
    help: "time between pings",
    more: "a peer that misses two loses its session",
  }),
  graceMs: setting({
    variable: "SHUTDOWN_GRACE",
    kind: number(0, MAX_MS),
    variableKind: inSeconds(MIN_SECONDS),
    fallback: 8_000,
    shown: "8 s (images: 1 s)",
    help: "time for pending answers when the server stops",
  }),
  drainMs: setting({
    variable: "SHUTDOWN_DRAIN",
    kind: number(0, MAX_MS),
    variableKind: inSeconds(0),
    fallback: 0,
    shown: "0 s (images: 7 s)",
    help: "time before that in which, at SIGTERM, sessions may finish",
  }),
  deployment: setting({
    variable: "OPENENV_DEPLOYMENT",
    kind: text,
    fallback: undefined,
    help: "name of the deployment",
    more: "`/health` answers 421 to a request whose header `openenv-deployment` has another name, as the balancer of a [Slurm job](../guide/deploy-targets.md#slurm) sends it",
  }),
  spaceHosts: setting({
    variable: "SPACE_HOST",
    kind: hosts("SPACE_HOST"),
    fallback: [],
    help: "set by Hugging Face: the names of the Space, which are added to ALLOWED_HOSTS",
  }),
  spaceId: setting({
    variable: "SPACE_ID",
    kind: text,
    fallback: null,
    help: "set by Hugging Face: owner and name of the Space, which the page links",
  }),
  supervise: setting({
    kind: flag,
    fallback: false,
    help: "supervise and replace a single worker as several are",
    more: "see [which failure ends what](../guide/limits.md#which-failure-ends-what); images set it, the command line always does it",
  }),
  handleSignals: setting({
    kind: flag,
    fallback: false,
    help: "signals end the server",
    more: "[cleanly](../guide/sessions.md#stop-a-server); the command line sets it",
  }),
  logLevel: setting({
    variable: "LOG_LEVEL",
    kind: choice(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
    fallback: "info",
    flag: "<level>",
    help: "least level that is logged",
    more: "lines on [standard error](../guide/logs.md)",
  }),
  workers: setting({
    variable: "WORKERS",
    kind: workers,
    fallback: 1,
    flag: "<number>",
    help: 'processes behind the one address, or "auto"',
  }),
  workerTimeoutMs: setting({
    variable: "WORKER_TIMEOUT",
    kind: number(1, MAX_MS),
    variableKind: inSeconds(MIN_SECONDS),
    fallback: 30_000,
    help: "a worker that does not answer pings for this long is replaced",
  }),
  heapMb: setting({
    variable: "HEAP_MB",
    kind: integer(64, 1_000_000),
    fallback: undefined,
    flag: "<number>",
    help: "limit of the JavaScript heap of each worker, in MB",
    more: "[Node's own](../guide/scaling.md#memory-of-a-worker) without it, up to 4 GB. With it, a single worker is a process as several are; refused on Bun and Deno",
  }),
  queueSize: setting({
    variable: "QUEUE_SIZE",
    kind: integer(0, MAX_COUNT),
    fallback: 0,
    flag: "<number>",
    help: "peers that may wait for a session, per worker",
  }),
  queueTimeout: setting({
    variable: "QUEUE_TIMEOUT",
    kind: timeout,
    fallback: 30,
    flag: "<seconds>",
    help: "how long one may wait",
  }),
  journal: setting({
    variable: "JOURNAL",
    kind: text,
    fallback: undefined,
    flag: "<place>",
    help: "file, redis:// address or memory in which resumable sessions survive their process",
    more: "see [journal](../guide/store.md). A file needs the package `lmdb`, or SQLite if its name ends in `.db`; an address needs the package `redis`. `JOURNAL_FILE` names a file that has the value, such as an address with a password",
    mayBeFile: true,
  }),
  journalDurability: setting({
    variable: "JOURNAL_DURABILITY",
    kind: choice(["process", "disk"]),
    fallback: "process",
    flag: "<kind>",
    help: "what a journal in a file survives: the end of the process, or also of the machine",
  }),
  journalRetention: setting({
    variable: "JOURNAL_RETENTION",
    kind: seconds(0),
    fallback: 3600,
    flag: "<seconds>",
    help: "how long the journal remembers why a session ended",
  }),
  isolation: setting({
    variable: "ISOLATION",
    kind: choice(["none", "thread", "process"]),
    fallback: "none",
    flag: "<kind>",
    help: "where each session lives",
  }),
  module: setting({
    kind: module,
    fallback: undefined,
    help: "JavaScript module that exports the environment, for isolation",
    more: "a URL or an absolute path; the command line knows it",
  }),
  isolatePoolSize: setting({
    variable: "ISOLATE_POOL_SIZE",
    kind: integer(1, 1024),
    fallback: undefined,
    flag: "<number>",
    help: "threads or processes shared by all sessions",
    more: "started with the server; each session is on the one with the fewest. Without it every session has its own",
  }),
  isolateSpares: setting({
    variable: "ISOLATE_SPARES",
    kind: integer(0, MAX_COUNT),
    fallback: 1,
    flag: "<number>",
    help: "isolates kept ready for new sessions",
    more: "if each session has its own",
  }),
  stepTimeout: setting({
    variable: "STEP_TIMEOUT",
    kind: timeout,
    fallback: undefined,
    flag: "<seconds>",
    help: "kill an isolated session that takes longer",
    more: "for a reset, step, state or tool",
  }),
  isolateMemoryMb: setting({
    variable: "ISOLATE_MEMORY_MB",
    kind: integer(8, 1_000_000),
    fallback: undefined,
    flag: "<number>",
    help: "memory limit of an isolate, in MB",
    more: "an empty process already takes some 60 MB",
  }),
} satisfies Record<Exclude<keyof ServeOptions, TokenName> | (typeof VARIABLES_ONLY)[number], Setting<unknown, unknown>>;

/** Settings that are not options of `serve()`. */
export const VARIABLES_ONLY = ["deployment", "spaceHosts", "spaceId"] as const;

/** The secrets of a server, each with its option and its variable. The variable with `_FILE` names a file. */
export const TOKENS = {
  operatorToken: {
    variable: "OPENENV_OPERATOR_TOKEN",
    more: "bearer token for the [operator's routes](../guide/authorization.md#operator-token), which are closed without it",
  },
  clientToken: {
    variable: "OPENENV_CLIENT_TOKEN",
    more: "bearer token without which the server answers 401 to all but `/health`, `/livez`, `/readyz`, `/` and the files of the page, see [client token](../guide/authorization.md#client-token)",
  },
  orchestratorToken: {
    variable: "OPENENV_ORCHESTRATOR_TOKEN",
    more: "in production mode: bearer token that reset, step and state on `/ws` need, see [tools](../guide/tools.md)",
  },
} as const;

export type TokenName = keyof typeof TOKENS;

type Table = typeof SETTINGS;
export type Settings = {
  readonly [K in keyof Table]: Table[K] extends Setting<infer T, infer Fallback> ? T | Fallback : never;
};
