import type { EnvironmentDefinition } from "../environment/environment.js";
import type { ServerCapacityStatus, SessionInfo } from "../protocol/http.js";
import type { Options } from "./config/settings.js";

/** The capacity of a server, and the timeout of its sessions. */
export interface ConcurrencyConfig extends Required<Pick<Options, "maxConcurrentEnvs" | "sessionTimeout">> {}

/**
 * Options of {@link serve}, listed in docs/reference/settings.md; an omitted option is read from its environment variable,
 * else it has its default.
 */
export interface ServeOptions extends Options {}

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
