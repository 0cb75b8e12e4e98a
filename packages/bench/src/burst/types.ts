import type { Socket } from "node:net";
import type { JsonObject } from "openenv-ts/protocol";

export type BurstMode = "ws" | "http";

/** What every request of a burst does: connect, reset, one step, close. */
export interface PlayJob {
  url: string;
  /** The IP address of the URL's host, resolved once for all connections. */
  address: string;
  /** Client token, sent with every request. */
  token?: string | undefined;
  mode: BurstMode;
  action: JsonObject;
  /** Time limit in milliseconds from the start of the connection to the response to the step. */
  timeoutMs: number;
}

/** Many requests that start at once. */
export interface BurstJob extends PlayJob {
  requests: number;
}

/** One request of a burst: times in milliseconds, and which server answered. Stages that were not reached are null. */
export interface RequestRow {
  /** Time from the start of the burst to the start of the connection: the delay of the client. */
  start_ms: number;
  connect_ms: number | null;
  reset_ms: number | null;
  step_ms: number | null;
  /** Time from the start of the burst to the response to the step, or to the failure. */
  total_ms: number;
  pid: number | null;
  session_hash: string | null;
  host_url: string | null;
  /** True when reset and step reached the same environment; null when the server does not report it. */
  same_session: boolean | null;
  success: boolean;
  error_type: string | null;
  error: string | null;
}

/** The resource use of the load generators. */
export interface ClientUse {
  /** Event loop delay of the busiest generator, 99th percentile, in milliseconds. */
  lagMs: number;
  /** Utilization of the busiest generator, 0 to 1. */
  busy: number;
  /** CPU time of all generators, in seconds. */
  cpuSeconds: number;
}

export interface BurstResult {
  /** Start time, in Unix milliseconds. */
  began: number;
  rows: RequestRow[];
  /** Seconds from the start of the burst to the last response. */
  wallSeconds: number;
  client: ClientUse;
  /** CPU time of the server's processes; absent when it could not be measured. */
  serverCpuSeconds?: number;
}

/** Measures the stages of one request. */
export interface PlayClock {
  connected(): void;
  wasReset(data: Record<string, unknown>): void;
  stepped(data: Record<string, unknown>): void;
}

/** Closes the session, after its request has been timed. */
export type Ending = () => Promise<void>;

/** Plays one request on a started connection. */
export type PlayOn = (socket: Socket, played: PlayClock) => Promise<Ending>;

/** The progress of a burst. */
export interface BurstProgress {
  succeeded: number;
  failed: number;
}
