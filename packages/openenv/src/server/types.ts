import type { EnvironmentDefinition } from "../environment/environment.js";
import type { ServerCapacityStatus, SessionInfo } from "../protocol/http.js";
import type { Mode } from "../session/runtime.js";
import type { LogLevel } from "../util/log.js";

/** How many sessions may live at once, and for how long without a socket. */
export interface ConcurrencyConfig {
  /** A whole number from 1 on. */
  maxConcurrentEnvs: number;
  /** Seconds without a request after which a session without a socket ends; null for never. */
  sessionTimeout: number | null;
}

/** Options of {@link serve}; what is left out comes from the environment variables, then from the defaults. */
export interface ServeOptions extends Partial<ConcurrencyConfig> {
  /** `HOST`, default 127.0.0.1. */
  host?: string;
  /** `PORT`, default 8000; 0 takes a free one. */
  port?: number;
  /** `OPENENV_MODE`, default simulation. */
  mode?: Mode;
  /** `ALLOWED_ORIGINS` (comma separated; `*` for all): web origins let in next to the server's own. */
  allowedOrigins?: readonly string[];
  /**
   * `ALLOWED_HOSTS` (comma separated, without ports): names, next to IP addresses and loopback names, under which a page
   * may use the server, and under which a server on a loopback address or a route for operators answers at all.
   */
  allowedHosts?: readonly string[];
  /**
   * `OPENENV_OPERATOR_TOKEN`: bearer token for `/sessions` and the routes below it, `/metrics` and `/web/server`; without
   * one they are closed.
   */
  operatorToken?: string;
  /**
   * `OPENENV_CLIENT_TOKEN`: bearer token without which only `/health` and the files of the page are answered; sockets and
   * requests without it get 401. The other two tokens are accepted as well. Default none: no token is needed.
   */
  clientToken?: string;
  /**
   * `OPENENV_ORCHESTRATOR_TOKEN`: bearer token that reset, step and state on `/ws` need in production; tools do not.
   * Without one everybody may do everything.
   */
  orchestratorToken?: string;
  /** Largest frame or body taken, bytes; `MAX_MESSAGE_BYTES`, default 16 MiB. */
  maxMessageBytes?: number;
  /**
   * Values and keys that one frame or body may hold; an empty list or object counts as two, and a key that the
   * message has not had before as four. More are refused with VALIDATION_ERROR before they are parsed, because parsing
   * blocks all sessions. `MAX_MESSAGE_ITEMS`, default 1,000,000.
   */
  maxMessageItems?: number;
  /** Milliseconds between pings; a peer that misses two is dropped. `PING_INTERVAL` (seconds), default 20 s. */
  pingIntervalMs?: number;
  /** Milliseconds that answers in flight get at shutdown; `SHUTDOWN_GRACE` (seconds), default 8 s. */
  graceMs?: number;
  /** Milliseconds before that in which {@link RunningServer.drain} lets sessions finish. `SHUTDOWN_DRAIN` (seconds), default 0. */
  drainMs?: number;
  /**
   * Processes behind the one address, or "auto" for one a core; capacity is per worker. `WORKERS`, default 1: this process
   * serves, and nothing replaces it when it hangs.
   */
  workers?: number | "auto";
  /**
   * Has this process watch over a single worker as over several: one that hangs or ends is replaced. Default false; images
   * set it, and the command line always does it.
   */
  supervise?: boolean;
  /**
   * Milliseconds without an answer to pings after which a worker is replaced; one that starts has ten times as many.
   * `WORKER_TIMEOUT` (seconds), default 30 s.
   */
  workerTimeoutMs?: number;
  /** Peers that may wait for a session when all are taken, per worker. `QUEUE_SIZE`, default 0: refused at once. */
  queueSize?: number;
  /** Seconds after which one that waits is refused. `QUEUE_TIMEOUT`, default 30. */
  queueTimeout?: number;
  /**
   * Where sessions live: in this process, or each in a worker thread or child process of its own, or in those that
   * `isolatePoolSize` says. Needs `module`. `ISOLATION`, default none.
   */
  isolation?: "none" | "thread" | "process";
  /** URL or absolute path of the JavaScript module that exports this environment; the command line knows it. */
  module?: URL | string;
  /** This many threads or processes, shared by all sessions, each on the one with the fewest. `ISOLATE_POOL_SIZE`. */
  isolatePoolSize?: number;
  /** Without a pool size: threads or processes kept ready for sessions to come. `ISOLATE_SPARES`, default 1. */
  isolateSpares?: number;
  /** Seconds a call of an isolated session, also of a tool, may take before it is killed. `STEP_TIMEOUT`, default none. */
  stepTimeout?: number;
  /** Megabytes: of JavaScript heap for a thread, of all its memory for a process. `ISOLATE_MEMORY_MB`, default none. */
  isolateMemoryMb?: number;
  /**
   * The web interface at `/web/`: "auto" serves it in simulation mode only. `ENABLE_WEB_INTERFACE` (auto, true, false),
   * default auto.
   */
  webInterface?: boolean | "auto";
  /** Path of the Markdown file that it shows, read at the start. `ENV_README_PATH`, default the definition's `readme`. */
  readmePath?: string;
  /** `LOG_LEVEL`, default info. Logs are JSON lines on standard error. */
  logLevel?: LogLevel;
  /**
   * Drain on SIGTERM and close on SIGINT, then exit with 0; on SIGHUP read the tokens in files again and, with several
   * workers, replace them one by one. Default false; the command line sets it.
   */
  handleSignals?: boolean;
}

export interface RunningServer extends AsyncDisposable {
  /** `supervisor` watches over workers and serves nothing itself. */
  readonly role: "alone" | "worker" | "supervisor";
  /** `http://host:port`, with the port that was really taken. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly environment: EnvironmentDefinition;
  /** There is a page at `/web/`. */
  readonly webInterface: boolean;
  capacity(): ServerCapacityStatus;
  /** Of all workers. */
  sessions(): Promise<SessionInfo[]>;
  /**
   * Leaves a balancer without losing a session: `/health` answers 503, sessions get `drainMs` to finish, newcomers are let
   * in for its first five seconds (at most half of it), then refused. Closes when the last session has ended or the time is up.
   */
  drain(): Promise<void>;
  /** Stops accepting, lets answers in flight finish within the grace period, closes the rest. */
  close(): Promise<void>;
}
