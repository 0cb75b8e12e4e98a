import type { Socket } from "node:net";
import type { JsonObject } from "openenv-ts/protocol";

export type BurstMode = "ws" | "http";

/** What every request of a burst does: connect, reset, one step, close. */
export interface PlayJob {
  url: string;
  /** The IP address of the URL's host, looked up once for all connections. */
  address: string;
  /** Sent with every request, for a server with a client's token. */
  token?: string | undefined;
  mode: BurstMode;
  action: JsonObject;
  /** Milliseconds from the start of the connection in which the answer to the step must be there. */
  timeoutMs: number;
}

/** Many requests that start at once. */
export interface BurstJob extends PlayJob {
  requests: number;
}

/** One request of a burst: milliseconds, and who answered. What was not reached is null. */
export interface RequestRow {
  /** From the start of the burst to the start of its connection: how long the client took to get to it. */
  start_ms: number;
  connect_ms: number | null;
  reset_ms: number | null;
  step_ms: number | null;
  /** From the start of the burst to the answer to the step, or to the failure. */
  total_ms: number;
  pid: number | null;
  session_hash: string | null;
  host_url: string | null;
  /** Whether reset and step met the same environment; null when the server does not say. */
  same_session: boolean | null;
  success: boolean;
  error_type: string | null;
  error: string | null;
}

/** What producing a load took of the machine it was produced on. */
export interface ClientUse {
  /** How late the event loop of the busiest generator was, 99th percentile, in milliseconds. */
  lagMs: number;
  /** The part of the time in which the busiest generator had work to do, 0 to 1. */
  busy: number;
  /** Processor time of all generators, in seconds. */
  cpuSeconds: number;
}

export interface BurstResult {
  /** When it began, in milliseconds of Unix time. */
  began: number;
  rows: RequestRow[];
  /** From the start of the burst to the last answer, in seconds. */
  wallSeconds: number;
  client: ClientUse;
}

/** Takes the time of the parts of one request. */
export interface Played {
  connected(): void;
  wasReset(data: Record<string, unknown>): void;
  stepped(data: Record<string, unknown>): void;
}

/** Ends the session, after its request has been timed. */
export type Ending = () => Promise<void>;

/** Plays one request on a connection that was started. */
export type PlayOn = (socket: Socket, played: Played) => Promise<Ending>;

/** How far a burst is, for someone who watches. */
export interface BurstProgress {
  succeeded: number;
  failed: number;
}
