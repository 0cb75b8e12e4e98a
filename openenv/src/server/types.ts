import type { EnvironmentDefinition } from "../env/environment.js";
import type { ServerCapacityStatus, SessionInfo } from "../protocol/http.js";

export type Mode = "simulation" | "production";
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

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
  /** `ALLOWED_ORIGINS` (comma separated; `*` for all): web origins let in beside the server's own. */
  allowedOrigins?: readonly string[];
  /** `OPENENV_OPERATOR_TOKEN`: bearer token for `GET /sessions`; without one only a loopback caller may ask. */
  operatorToken?: string;
  /** Largest frame or body taken, bytes; `MAX_MESSAGE_BYTES`, default 16 MiB. */
  maxMessageBytes?: number;
  /** Milliseconds between pings; a peer that misses two is dropped. `PING_INTERVAL` (seconds), default 20 s. */
  pingIntervalMs?: number;
  /** Milliseconds that answers in flight get at shutdown; `SHUTDOWN_GRACE` (seconds), default 10 s. */
  graceMs?: number;
  /** `LOG_LEVEL`, default info. Logs are JSON lines on standard error. */
  logLevel?: LogLevel;
  /** End cleanly on SIGTERM and SIGINT, then exit with 0. Default false; the command line sets it. */
  handleSignals?: boolean;
}

export interface RunningServer extends AsyncDisposable {
  /** `http://host:port`, with the port that was really taken. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly environment: EnvironmentDefinition;
  capacity(): ServerCapacityStatus;
  sessions(): SessionInfo[];
  /** Stops accepting, lets answers in flight finish within the grace period, closes the rest. */
  close(): Promise<void>;
}
