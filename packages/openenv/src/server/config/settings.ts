import { MAX_MESSAGE_ITEMS } from "../../protocol/codec/json.js";
import { RESUME_DEFAULTS } from "../../session/registry/session-keeper.js";
import { RESTORE_DEFAULTS } from "../../session/restore-limits.js";
import { checkPlugins } from "../plugins/check-plugins.js";
import type { ServerPlugin } from "../plugins/plugin.js";
import { parseHosts, parseOrigins } from "./hosts.js";
import {
  bytes,
  choice,
  flag,
  integer,
  type Kind,
  list,
  milliseconds,
  type Setting,
  sessionTimeout,
  setting,
  text,
  timeout,
  webInterface,
  workers,
} from "./setting.js";

const MAX_BYTES = 512 * 1024 * 1024;
const MAX_COUNT = 10_000_000;
const hosts = (variable: string): Kind<string[], readonly string[]> =>
  list("host names without a port", (names) => parseHosts(variable, names));

const plugins: Kind<readonly ServerPlugin[]> = {
  expects: "a list of plugins, each with a name",
  parse: (given) => (Array.isArray(given) ? checkPlugins(given) : undefined),
};
const names = list("names without commas", (given) => given.map((name) => name.trim()).filter((name) => name !== ""));

/** Any value: the isolation of the environment checks it when it loads the module. */
const module: Kind<URL | string> = { expects: "a URL or a path", parse: (given) => given as URL | string };

/**
 * Every setting of a server. A row makes the option of `serve()`, its variable, its flag of `openenv serve`, the check of
 * the value and the row of docs/reference/settings.md. Editors show the docstring at the option, and the page has it as the
 * description. It ends with the variable and the default, which `npm run docs` compares with the row.
 */
export const SETTINGS = {
  /** Address to listen on; `0.0.0.0` to be reachable from other machines. `HOST`, default 127.0.0.1. */
  host: setting("HOST", text, "127.0.0.1", { flag: "<address> address to listen on" }),
  /** Port to listen on; 0 selects a free port. `PORT`, default 8000. */
  port: setting("PORT", integer(0, 65_535), 8000, { flag: "<number> port to listen on, 0 for a free one" }),
  /** Production leaves out HTTP reset, step and state. `OPENENV_MODE`, default simulation. */
  mode: setting("OPENENV_MODE", choice(["simulation", "production"]), "simulation", {
    flag: "<mode> production leaves out HTTP reset, step and state",
    inManifest: true,
  }),
  /**
   * The maximum number of open sessions of a worker; a positive integer. The default is 1 for an environment that does not
   * support concurrent sessions. `MAX_CONCURRENT_ENVS`, default 100.
   */
  maxConcurrentEnvs: setting("MAX_CONCURRENT_ENVS", integer(1, MAX_COUNT), undefined, {
    shown: "100",
    flag: "<number> sessions at once",
    inManifest: true,
  }),
  /**
   * Seconds without a request after which a session without a socket ends; null, or "none" as text, for never. A resumable
   * session is kept without a connection for as long. A session that `POST /reset` opened ends after 300 s, or
   * `resumeGuarantee` if that is longer, when another client needs its slot. `SESSION_TIMEOUT`, default 900.
   */
  sessionTimeout: setting("SESSION_TIMEOUT", sessionTimeout, 900, {
    flag: '<seconds> end a session without a socket after this long without a request, or "none"',
    see: "[HTTP sessions](../design/http-sessions.md)",
    inManifest: true,
  }),
  /**
   * Seconds without a request after which a session whose client keeps its connection gives way to another client that
   * needs a slot, never during a call. `SESSION_IDLE_TIMEOUT`, default none.
   */
  sessionIdleTimeout: setting("SESSION_IDLE_TIMEOUT", timeout, undefined, {
    flag: "<seconds> after this long without a request, a session whose client keeps its connection gives way to another client",
    see: "[when a session ends](../guide/sessions.md#when-a-session-ends)",
    inManifest: true,
  }),
  /**
   * Seconds that a resumable session without a connection keeps its slot while another client needs one, at most
   * `sessionTimeout`. `RESUME_GUARANTEE`, default 60.
   */
  resumeGuarantee: setting("RESUME_GUARANTEE", timeout, RESUME_DEFAULTS.guaranteeMs / 1000, {
    flag: "<seconds> how long a resumable session without a connection keeps its slot while another client needs one",
    inManifest: true,
  }),
  /** Maximum number of unacknowledged answers of a resumable session. `RESUME_ANSWERS`, default 64. */
  resumeAnswers: setting("RESUME_ANSWERS", integer(1, 10_000), RESUME_DEFAULTS.answers, {
    flag: "<number> answers that the client of a resumable session may leave without acknowledgement",
  }),
  /**
   * Bytes of the stored requests and answers of all resumable sessions, per worker; one session may fill a 32nd of it.
   * Beyond that no new session becomes resumable, unless one that was not resumed can end for it. `RESUME_BYTES`, default
   * 256 MiB.
   */
  resumeBytes: setting("RESUME_BYTES", bytes(1024 ** 4), RESUME_DEFAULTS.bytes, {
    flag: "<number> bytes of stored requests and answers, per worker",
    see: "[memory](../design/backlog.md#ceiling)",
  }),
  /** Largest snapshot of an environment, in bytes or characters of JSON. `SNAPSHOT_BYTES`, default 64 MiB. */
  snapshotBytes: setting("SNAPSHOT_BYTES", bytes(MAX_BYTES), RESTORE_DEFAULTS.snapshotBytes, {
    flag: "<number> largest snapshot of an environment, bytes",
  }),
  /** Events of an episode that are kept for a replay; a longer one cannot be restored. `REPLAY_EVENTS`, default 10000. */
  replayEvents: setting("REPLAY_EVENTS", integer(1, MAX_COUNT), RESTORE_DEFAULTS.replayEvents, {
    flag: "<number> events of an episode that are kept for a replay",
  }),
  /** Seconds that a replay, or a `restore()` of an environment, may take. `REPLAY_TIMEOUT`, default 60. */
  replayTimeout: setting("REPLAY_TIMEOUT", timeout, RESTORE_DEFAULTS.replayMs / 1000, {
    flag: "<seconds> how long a replay, or a restore() of an environment, may take",
  }),
  /** Bytes that a session keeps of its past: events for a replay, or states. `HISTORY_BYTES`, default 32 MiB. */
  historyBytes: setting("HISTORY_BYTES", bytes(MAX_BYTES), RESTORE_DEFAULTS.historyBytes, {
    flag: "<number> bytes that a session keeps of its past: events for a replay, or states",
    see: "[`history`](../guide/restore-and-fork.md#fork-from-an-earlier-step)",
  }),
  /**
   * Web origins that may use the server in addition to its own, as text with commas; `*` for all, under any name.
   * `ALLOWED_ORIGINS`, default the server's own.
   */
  allowedOrigins: setting("ALLOWED_ORIGINS", list("web origins such as https://example.org", parseOrigins), [], {
    shown: "the server's own",
  }),
  /**
   * Host names without ports, in addition to IP addresses and loopback names, at which pages may use the server, as text
   * with commas. A server on a loopback address and the routes for operators answer at no others. Those of `SPACE_HOST` are
   * added. `ALLOWED_HOSTS`, default none.
   */
  allowedHosts: setting("ALLOWED_HOSTS", hosts("ALLOWED_HOSTS"), [], {
    flag: "<names> names under which pages may use the server, comma separated",
    see: "[host names](../guide/authorization.md#host-names-and-dns-rebinding)",
  }),
  /** The web interface at `/web/`; auto serves it in simulation mode only. `ENABLE_WEB_INTERFACE`, default auto. */
  webInterface: setting("ENABLE_WEB_INTERFACE", webInterface, "auto", {
    see: "[web interface](../guide/web.md)",
    inManifest: true,
  }),
  /**
   * Number of tasks that an environment without tasks has for clients of ORS, the Open Reward Standard: one for each
   * seed from 0. `ORS_SEEDS`, default 1000.
   */
  orsSeeds: setting("ORS_SEEDS", integer(1, 100_000), 1000, {
    flag: "<number> tasks of an environment without tasks for clients of ORS: a seed each",
    inManifest: true,
  }),
  /**
   * Path of the Markdown file that the page shows, read once; without one, the `readme` of the definition.
   * `ENV_README_PATH`, default none.
   */
  readmePath: setting("ENV_README_PATH", text, undefined),
  /** Path of a report of `openenv validate --output` that the page shows, read once. `ENV_REPORT_PATH`, default none. */
  reportPath: setting("ENV_REPORT_PATH", text, undefined),
  /**
   * The largest accepted frame or body, in bytes; a larger frame closes its socket with 1009. `MAX_MESSAGE_BYTES`, default
   * 16 MiB.
   */
  maxMessageBytes: setting("MAX_MESSAGE_BYTES", bytes(MAX_BYTES), 16 * 1024 * 1024),
  /**
   * The largest number of values and keys in one frame or body; an empty list or object counts as two, the first
   * occurrence of a key as four. Larger messages are rejected with VALIDATION_ERROR before they are parsed, because
   * parsing blocks all sessions. `MAX_MESSAGE_ITEMS`, default 250000.
   */
  maxMessageItems: setting("MAX_MESSAGE_ITEMS", integer(1000, MAX_BYTES), MAX_MESSAGE_ITEMS, {
    see: "[large messages](../guide/limits.md#large-messages)",
  }),
  /** Milliseconds between pings; a peer that misses two loses its session. `PING_INTERVAL` (seconds), default 20 s. */
  pingIntervalMs: setting("PING_INTERVAL", milliseconds(1), 20_000),
  /**
   * Milliseconds that calls in flight get to finish when the server stops. `SHUTDOWN_GRACE` (seconds), default 8 s (images:
   * 1 s).
   */
  graceMs: setting("SHUTDOWN_GRACE", milliseconds(0), 8_000, { shown: "8 s (images: 1 s)", inManifest: true }),
  /**
   * Milliseconds that `drain()`, or SIGTERM, gives sessions to finish before that. `SHUTDOWN_DRAIN`
   * (seconds), default 0 s (images: 7 s).
   */
  drainMs: setting("SHUTDOWN_DRAIN", milliseconds(0, 0), 0, { shown: "0 s (images: 7 s)", inManifest: true }),
  /**
   * Name of the deployment. `/health` answers 421 to a request whose header `openenv-deployment` has another name.
   * `OPENENV_DEPLOYMENT`, default none.
   */
  deployment: setting("OPENENV_DEPLOYMENT", text, undefined, {
    see: "[Slurm](../guide/deploy-targets.md#slurm), whose balancer sends it",
  }),
  /** Set by Hugging Face: the names of the Space, which are added to ALLOWED_HOSTS. `SPACE_HOST`, default none. */
  spaceHosts: setting("SPACE_HOST", hosts("SPACE_HOST"), []),
  /** Set by Hugging Face: owner and name of the Space, which the page links. `SPACE_ID`, default none. */
  spaceId: setting("SPACE_ID", text, null),
  /**
   * Supervise a single worker like several: a worker that hangs or exits is replaced. Images set it, and the command line
   * always does it. Default false.
   */
  supervise: setting(undefined, flag, false, {
    see: "[which failure ends what](../guide/limits.md#which-failure-ends-what)",
  }),
  /**
   * Drain on SIGTERM and close on SIGINT, then exit with 0; on SIGHUP reload token files and, with several workers,
   * replace them one by one. The command line sets it. Default false.
   */
  handleSignals: setting(undefined, flag, false, { see: "[stop a server](../guide/sessions.md#stop-a-server)" }),
  /** Least level that is logged. Logs are JSON lines on standard error. `LOG_LEVEL`, default info. */
  logLevel: setting("LOG_LEVEL", choice(["trace", "debug", "info", "warn", "error", "fatal", "silent"]), "info", {
    flag: "<level> least level that is logged",
    see: "[logs](../guide/logs.md)",
  }),
  /**
   * The number of worker processes behind the address, or "auto" for one per core; capacity is per worker. With one, this
   * process serves, and is not replaced when it hangs. `WORKERS`, default 1.
   */
  workers: setting("WORKERS", workers, 1, {
    flag: '<number> processes behind the one address, or "auto"',
    inManifest: true,
  }),
  /**
   * Milliseconds without an answer to pings after which a worker is replaced; a starting worker gets ten times as many.
   * `WORKER_TIMEOUT` (seconds), default 30 s.
   */
  workerTimeoutMs: setting("WORKER_TIMEOUT", milliseconds(1), 30_000),
  /**
   * Megabytes of JavaScript heap that each worker may use; without it, as many as Node chooses, up to 4 GB. A process cannot
   * change its own limit, so a single worker is started as a process, as with `supervise`. Refused on Bun and Deno.
   * `HEAP_MB`, default none.
   */
  heapMb: setting("HEAP_MB", integer(64, 1_000_000), undefined, {
    flag: "<number> limit of the JavaScript heap of each worker, in MB",
    see: "[memory of a worker](../guide/scaling.md#memory-of-a-worker)",
    inManifest: true,
  }),
  /** Number of peers that can wait for a full worker; with 0 they are rejected at once. `QUEUE_SIZE`, default 0. */
  queueSize: setting("QUEUE_SIZE", integer(0, MAX_COUNT), 0, {
    flag: "<number> peers that may wait for a session, per worker",
    inManifest: true,
  }),
  /** Seconds after which a waiting peer is rejected. `QUEUE_TIMEOUT`, default 30. */
  queueTimeout: setting("QUEUE_TIMEOUT", timeout, 30, { flag: "<seconds> how long one may wait", inManifest: true }),
  /**
   * Where resumable sessions are kept so that another process can continue them: the path of a file that all workers of
   * this machine share, `redis://host:port`, or `memory` for what survives only the end of an isolate. A file is one of SQLite, for
   * which Node 20 needs the package `@photostructure/sqlite`; an address needs the package `redis`. `JOURNAL_FILE` names a
   * file that has the value, such as an address with a password. `JOURNAL`, default none.
   */
  journal: setting("JOURNAL", text, undefined, {
    flag: "<place> file, redis:// address or memory in which resumable sessions survive their process",
    see: "[the store](../guide/store.md)",
    mayBeFile: true,
  }),
  /**
   * What a journal in a file survives: the end of the process, or also of the machine, for which each answer waits for
   * the disk. `JOURNAL_DURABILITY`, default process.
   */
  journalDurability: setting("JOURNAL_DURABILITY", choice(["process", "disk"]), "process", {
    flag: "<kind> what a journal in a file survives: the end of the process, or also of the machine",
  }),
  /**
   * The folder in which all episodes are recorded, with requests and answers; it is made if it does not exist.
   * `OPENENV_STORE`, default none.
   */
  store: setting("OPENENV_STORE", text, undefined, {
    flag: "<folder> record all episodes in this folder",
    see: "[rollouts](../guide/rollouts.md)",
  }),
  /**
   * The word `off` records no requests, answers and views: only numbers, names and errors. `OPENENV_STORE_CONTENTS`,
   * default on.
   */
  storeContents: setting("OPENENV_STORE_CONTENTS", choice(["on", "off"]), "on", {
    flag: "<word> off records episodes without their requests and answers",
  }),
  /** Days after which an episode is deleted. `OPENENV_STORE_MAX_AGE`, default none. */
  storeMaxAge: setting("OPENENV_STORE_MAX_AGE", integer(1, 36_500), undefined, {
    flag: "<days> delete older episodes",
  }),
  /** Episodes that are kept; the oldest are deleted. `OPENENV_STORE_MAX_EPISODES`, default 1000000. */
  storeMaxEpisodes: setting("OPENENV_STORE_MAX_EPISODES", integer(1, MAX_COUNT), 1_000_000, {
    flag: "<number> episodes to keep",
  }),
  /** Size of the store from which the oldest episodes are deleted, in bytes. `OPENENV_STORE_MAX_BYTES`, default 10240 MiB. */
  storeMaxBytes: setting("OPENENV_STORE_MAX_BYTES", bytes(1024 ** 4), 10 * 1024 ** 3, {
    flag: "<number> size to keep, bytes",
  }),
  /**
   * Where sessions run: in this process, or each in a separate worker thread or child process, or in a pool of
   * `isolatePoolSize` of them. Requires `module`. `ISOLATION`, default none.
   */
  isolation: setting("ISOLATION", choice(["none", "thread", "process"]), "none", {
    flag: "<kind> where each session lives",
    inManifest: true,
  }),
  /**
   * URL or absolute path of the JavaScript module that exports this environment, for isolation; the command line sets it.
   * Default none.
   */
  module: setting(undefined, module, undefined),
  /**
   * Plugins of the server, in their order, from `openenv-ts/plugin`. The command line loads them from modules: `--plugin
   * <file>`, which may be repeated. Default none.
   */
  plugins: setting(undefined, plugins, [], { see: "[plugins](../guide/plugins.md)" }),
  /**
   * Makes an environment at the start and closes it. If the factory fails, the server does not start; an infrastructure
   * fault is only logged. `openenv serve` passes true. `TRY_FACTORY`, default false.
   */
  tryFactory: setting("TRY_FACTORY", flag, false),
  /**
   * Names of principals that are operators, as text with commas. A plugin recognises principals; only this setting makes
   * one an operator. `OPENENV_OPERATORS`, default none.
   */
  operators: setting("OPENENV_OPERATORS", names, [], { see: "[plugins](../guide/plugins.md#principals)" }),
  /**
   * Number of threads or processes that all sessions share; a session gets the least loaded. They start with the server.
   * Without it every session has its own. `ISOLATE_POOL_SIZE`, default none.
   */
  isolatePoolSize: setting("ISOLATE_POOL_SIZE", integer(1, 1024), undefined, {
    flag: "<number> threads or processes shared by all sessions",
    inManifest: true,
  }),
  /** Number of threads or processes kept ready for new sessions without a pool. `ISOLATE_SPARES`, default 1. */
  isolateSpares: setting("ISOLATE_SPARES", integer(0, MAX_COUNT), 1, {
    flag: "<number> isolates kept ready for new sessions",
    inManifest: true,
  }),
  /**
   * Seconds after which a call of an isolated session is killed: a reset, step, state or tool call. `STEP_TIMEOUT`, default
   * none.
   */
  stepTimeout: setting("STEP_TIMEOUT", timeout, undefined, {
    flag: "<seconds> kill an isolated session that takes longer",
    inManifest: true,
  }),
  /**
   * Megabytes of JavaScript heap of a thread, or of all memory of a process; an empty process already takes some 60 MB.
   * `ISOLATE_MEMORY_MB`, default none.
   */
  isolateMemoryMb: setting("ISOLATE_MEMORY_MB", integer(8, 1_000_000), undefined, {
    flag: "<number> memory limit of an isolate, in MB",
    inManifest: true,
  }),
  /**
   * Bearer token for `/sessions` and the routes below it, `/metrics` and `/web/server`; without it these routes are closed.
   * `OPENENV_OPERATOR_TOKEN`, default none.
   */
  operatorToken: setting("OPENENV_OPERATOR_TOKEN", text, undefined, {
    see: "[operator token](../guide/authorization.md#operator-token)",
    mayBeFile: true,
  }),
  /**
   * Bearer token for reading the recorded rollouts, and for nothing else. `OPENENV_VIEWER_TOKEN`, default none.
   */
  viewerToken: setting("OPENENV_VIEWER_TOKEN", text, undefined, {
    see: "[viewer token](../guide/authorization.md#viewer-token)",
    mayBeFile: true,
  }),
  /**
   * Bearer token that all sockets and requests need, except `/health`, `/livez`, `/readyz`, `/` and the files of the page;
   * without it they get 401. The operator and orchestrator tokens are accepted as well; the viewer token is not.
   * `OPENENV_CLIENT_TOKEN`, default none.
   */
  clientToken: setting("OPENENV_CLIENT_TOKEN", text, undefined, {
    see: "[client token](../guide/authorization.md#client-token)",
    mayBeFile: true,
  }),
  /**
   * Bearer token that reset, step and state on `/ws` need in production mode; tool calls do not.
   * `OPENENV_ORCHESTRATOR_TOKEN`, default none.
   */
  orchestratorToken: setting("OPENENV_ORCHESTRATOR_TOKEN", text, undefined, {
    see: "[tools](../guide/tools.md)",
    mayBeFile: true,
  }),
};

/** Settings that are not options of `serve()`. */
export const VARIABLES_ONLY = ["deployment", "spaceHosts", "spaceId"] as const;

type Table = typeof SETTINGS;
/** The values of all settings. */
export type Settings = {
  readonly [K in keyof Table]: Table[K] extends Setting<infer T, infer Fallback, unknown> ? T | Fallback : never;
};
/**
 * The options of `serve()`, with the docstrings of the table.
 * @internal
 */
export type Options = Omit<
  { [K in keyof Table]?: Table[K] extends Setting<unknown, unknown, infer Option> ? Option : never },
  (typeof VARIABLES_ONLY)[number]
>;
/** The secrets of a server. */
export type Tokens = Pick<Settings, "clientToken" | "operatorToken" | "orchestratorToken" | "viewerToken">;
