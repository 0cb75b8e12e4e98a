import type { EnvironmentDefinition } from "../environment/environment.js";
import type { ServerCapacityStatus, SessionInfo } from "../protocol/http.js";
import type { Mode } from "../session/runtime.js";
import type { LogLevel } from "../util/log.js";

/** The capacity of a server, and the timeout of its sessions. */
export interface ConcurrencyConfig {
  /** The maximum number of open sessions; a positive integer. */
  maxConcurrentEnvs: number;
  /** Seconds without a request after which a session without a socket ends; null for never. */
  sessionTimeout: number | null;
}

/** Options of {@link serve}; an omitted option is read from its environment variable, else it has its default. */
export interface ServeOptions extends Partial<ConcurrencyConfig> {
  /** `HOST`, default 127.0.0.1. */
  host?: string;
  /** `PORT`, default 8000; 0 selects a free port. */
  port?: number;
  /** `OPENENV_MODE`, default simulation. */
  mode?: Mode;
  /** `ALLOWED_ORIGINS` (comma-separated; `*` for all): web origins that are allowed in addition to the server's own. */
  allowedOrigins?: readonly string[];
  /**
   * `ALLOWED_HOSTS` (comma-separated, without ports): host names, in addition to IP addresses and loopback names, at
   * which pages may use the server. A server on a loopback address and the routes for operators answer at no others.
   */
  allowedHosts?: readonly string[];
  /**
   * `OPENENV_OPERATOR_TOKEN`: bearer token for `/sessions` and the routes below it, `/metrics` and `/web/server`.
   * Without an operator token these routes are closed.
   */
  operatorToken?: string;
  /**
   * `OPENENV_CLIENT_TOKEN`: bearer token that all sockets and requests need, except `/health` and the files of the
   * page; without it they get 401. The other two tokens are accepted as well. Default none: no token is required.
   */
  clientToken?: string;
  /**
   * `OPENENV_ORCHESTRATOR_TOKEN`: bearer token that reset, step and state on `/ws` need in production; tool calls do
   * not. Default none: no token is required.
   */
  orchestratorToken?: string;
  /** The largest accepted frame or body, bytes. `MAX_MESSAGE_BYTES`, default 16 MiB. */
  maxMessageBytes?: number;
  /**
   * The largest number of values and keys in one frame or body; an empty list or object counts as two, the first
   * occurrence of a key as four. Larger messages are rejected with VALIDATION_ERROR before they are parsed, because
   * parsing blocks all sessions. `MAX_MESSAGE_ITEMS`, default 250,000.
   */
  maxMessageItems?: number;
  /** Milliseconds between pings; a peer that misses two is disconnected. `PING_INTERVAL` (seconds), default 20 s. */
  pingIntervalMs?: number;
  /** Milliseconds that calls in flight get to finish at shutdown. `SHUTDOWN_GRACE` (seconds), default 8 s. */
  graceMs?: number;
  /** Milliseconds that {@link RunningServer.drain} gives sessions to finish. `SHUTDOWN_DRAIN` (seconds), default 0. */
  drainMs?: number;
  /**
   * The number of worker processes behind the address, or "auto" for one per core; capacity is per worker. `WORKERS`,
   * default 1: this process serves, and is not replaced when it hangs.
   */
  workers?: number | "auto";
  /**
   * Supervise a single worker like several: a worker that hangs or exits is replaced. Default false; images set it, and
   * the command line always does it.
   */
  supervise?: boolean;
  /**
   * Milliseconds without an answer to pings after which a worker is replaced; a starting worker gets ten times as many.
   * `WORKER_TIMEOUT` (seconds), default 30 s.
   */
  workerTimeoutMs?: number;
  /**
   * Megabytes of JavaScript heap that each worker may use. A process cannot change its own limit, so a single worker is
   * started as a process, as with `supervise`. `HEAP_MB`, default that of Node.
   */
  heapMb?: number;
  /** Number of peers that can wait for a full worker. `QUEUE_SIZE`, default 0: they are rejected at once. */
  queueSize?: number;
  /** Seconds after which a waiting peer is rejected. `QUEUE_TIMEOUT`, default 30. */
  queueTimeout?: number;
  /**
   * Seconds without a request after which a session whose client keeps its connection gives way to another client that
   * needs a slot. `SESSION_IDLE_TIMEOUT`, default never.
   */
  sessionIdleTimeout?: number;
  /**
   * Seconds that a resumable session without a connection keeps its slot while another client needs one, at most
   * `sessionTimeout`. `RESUME_GUARANTEE`, default 60.
   */
  resumeGuarantee?: number;
  /** Maximum number of unacknowledged answers of a resumable session. `RESUME_ANSWERS`, default 64. */
  resumeAnswers?: number;
  /**
   * Bytes of the stored requests and answers of all resumable sessions, per worker; one session may fill a 32nd of it.
   * Beyond that no new session becomes resumable, unless one that was not resumed can end for it. `RESUME_BYTES`, default
   * 256 MiB.
   */
  resumeBytes?: number;
  /** Largest snapshot of an environment, in bytes or characters of JSON. `SNAPSHOT_BYTES`, default 64 MiB. */
  snapshotBytes?: number;
  /** Events of an episode that are kept for a replay; a longer one cannot be restored. `REPLAY_EVENTS`, default 10,000. */
  replayEvents?: number;
  /** Seconds that a replay or a `restore()` may take. `REPLAY_TIMEOUT`, default 60. */
  replayTimeout?: number;
  /** Bytes that a session keeps of its past: events for a replay, or states. `HISTORY_BYTES`, default 32 MiB. */
  historyBytes?: number;
  /**
   * Where resumable sessions are kept so that another process can continue them: the path of a file that all workers of
   * this machine share, `redis://host:port`, or `memory` for what survives only the end of an isolate. `JOURNAL`, default
   * none.
   */
  journal?: string;
  /**
   * What a journal in a file survives: the end of the process, or also of the machine, for which each answer waits for
   * the disk. `JOURNAL_DURABILITY`, default process.
   */
  journalDurability?: "process" | "disk";
  /** Seconds for which the journal remembers why a session ended. `JOURNAL_RETENTION`, default 3600. */
  journalRetention?: number;
  /**
   * Where sessions run: in this process, or each in a separate worker thread or child process, or in a pool of
   * `isolatePoolSize` of them. Requires `module`. `ISOLATION`, default none.
   */
  isolation?: "none" | "thread" | "process";
  /** URL or absolute path of the JavaScript module that exports this environment; the command line sets it. */
  module?: URL | string;
  /** Number of threads or processes that all sessions share; a session gets the least loaded. `ISOLATE_POOL_SIZE`. */
  isolatePoolSize?: number;
  /** Number of threads or processes kept ready for new sessions without a pool. `ISOLATE_SPARES`, default 1. */
  isolateSpares?: number;
  /** Seconds after which a call of an isolated session is killed, tool calls included. `STEP_TIMEOUT`, default none. */
  stepTimeout?: number;
  /** Megabytes of JavaScript heap of a thread, or of all memory of a process. `ISOLATE_MEMORY_MB`, default none. */
  isolateMemoryMb?: number;
  /**
   * The web interface at `/web/`: "auto" serves it in simulation mode only. `ENABLE_WEB_INTERFACE` (auto, true, false),
   * default auto.
   */
  webInterface?: boolean | "auto";
  /**
   * Number of tasks that an environment without tasks has for clients of ORS, the Open Reward Standard: one for each
   * seed from 0. `ORS_SEEDS`, default 1000.
   */
  orsSeeds?: number;
  /** Path of the Markdown file that the page shows, read once. `ENV_README_PATH`, default the definition's `readme`. */
  readmePath?: string;
  /** `LOG_LEVEL`, default info. Logs are JSON lines on standard error. */
  logLevel?: LogLevel;
  /**
   * Drain on SIGTERM and close on SIGINT, then exit with 0; on SIGHUP reload token files and, with several workers,
   * replace them one by one. Default false; the command line sets it.
   */
  handleSignals?: boolean;
}

export interface RunningServer extends AsyncDisposable {
  /** `supervisor` starts and replaces workers, and serves nothing itself. */
  readonly role: "alone" | "worker" | "supervisor";
  /** `http://host:port`, with the actual port. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly environment: EnvironmentDefinition;
  /** True when there is a page at `/web/`. */
  readonly webInterface: boolean;
  capacity(): ServerCapacityStatus;
  /** Returns the sessions of all workers. */
  sessions(): Promise<SessionInfo[]>;
  /**
   * Removes the server from a balancer without losing a session: `/health` answers 503 and sessions get `drainMs` to
   * finish. New sessions are accepted for the first five seconds (at most half of `drainMs`), then rejected. Closes
   * when the last session has ended or the time is up.
   */
  drain(): Promise<void>;
  /** Stops accepting, lets calls in flight finish within the grace period, and closes everything else. */
  close(): Promise<void>;
}
