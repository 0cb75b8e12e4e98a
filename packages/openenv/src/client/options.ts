import type { ResetOptions } from "../protocol/codec/codec.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ClientContract, GenericContract, Sent } from "./contract/contract.js";

/** Options of one call. */
export interface CallOptions {
  /** Milliseconds to wait for the answer once the call is sent, then the session is lost; default: the client's. */
  timeoutMs?: number | undefined;
  /**
   * Aborting it cancels the call, which rejects with RemoteError CANCELLED; the session continues. A call that waits for its
   * turn is not sent (ABORTED). A server that cannot cancel, such as one in Python, loses the session (ABORTED).
   */
  signal?: AbortSignal | undefined;
}

export interface StepOptions extends CallOptions {
  /** Free-form data for the environment, sent with the action (`action.metadata` on the wire). */
  metadata?: JsonObject | undefined;
}

/** Options of resuming a session after its connection was lost. */
export interface ResumeOptions {
  /**
   * Milliseconds between the pings of a call that waits for its answer; one without a pong before the next is lost.
   * Default 15,000. Only on Node: other platforms find a lost network by the time limit of the call.
   */
  pingIntervalMs?: number | undefined;
  /** Called after each time that the session was resumed. */
  onRecovered?(recovery: Recovery): void;
}

/** What it took to resume a session. */
export interface Recovery {
  /** Connections that were tried. */
  attempts: number;
  /** Milliseconds from the loss to the new connection. */
  downMs: number;
}

/** Options of `connect`. */
export interface ConnectOptions {
  /** Headers of the handshake and of every HTTP request. Browsers cannot send them on a WebSocket. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as `Authorization: Bearer <token>`; as a subprotocol on a WebSocket that cannot send headers. */
  token?: string | undefined;
  /** Milliseconds a call waits for its answer; default 60,000. */
  timeoutMs?: number | undefined;
  /** Milliseconds to wait for a connection to open; default 10,000. */
  connectTimeoutMs?: number | undefined;
  /** Request timings of each call from the server, in `result.metadata.openenv`. Default false. */
  timing?: boolean | undefined;
  /** Identify the state after each reset and step, in `result.digest`. Default false; needs a server of openenv-ts. */
  digest?: boolean | undefined;
  /**
   * Use MessagePack instead of JSON if the server supports it: smaller and faster for numbers, long strings and bytes.
   * Default false.
   */
  binary?: boolean | undefined;
  /**
   * Keep the session when its connection is lost: the client connects again within the time limit of the call, and the
   * server executes each request once. Default false; needs a server of openenv-ts.
   */
  resume?: boolean | ResumeOptions | undefined;
  /** False skips the comparison of contracts, and without a contract the fetch of `/schema`. Default true. */
  check?: boolean | undefined;
  /** Aborts connecting; close an open client with `close()`. */
  signal?: AbortSignal | undefined;
}

/** Options of `fork`. */
export interface ForkOptions {
  /**
   * The random numbers of the environment's context in each copy: those that the session would get (`same`, the
   * default), or others in each (`split`).
   */
  rng?: "same" | "split" | undefined;
  /** Aborts waiting. */
  signal?: AbortSignal | undefined;
}

/** Options of `resetGroups`. */
export interface GroupOptions {
  /**
   * Reset only the first session of each group and make the others its copies, for environments whose seed does not
   * decide how an episode begins. Default false.
   */
  fork?: boolean | undefined;
  /** The random numbers of each copy with `fork`: others in each (`split`, the default) or the same. */
  rng?: "same" | "split" | undefined;
}

/**
 * What happens when the episode of a session has ended or was lost. `disabled`: nothing until `reset`. `next-step`: the
 * next step starts a new episode and ignores its action. `same-step`: the step that ended the episode starts a new one,
 * whose first result is in `next`.
 */
export type Autoreset = "disabled" | "next-step" | "same-step";

/** The options of a reset: those of the protocol and those of the contract. */
export type ResetValues<C extends ClientContract> = ResetOptions & Sent<C["reset"]>;

/** Options of `connectVector`. */
export interface VectorOptions<C extends ClientContract = GenericContract> extends ConnectOptions {
  /** Number of sessions. */
  size: number;
  /** Default `disabled`. */
  autoreset?: Autoreset | undefined;
  /** Returns the options of a reset by `autoreset`, given the index of the session; default: no options, so no seed. */
  resetWith?: ((index: number) => ResetValues<C>) | undefined;
  /** Maximum number of sessions that are called or opened at the same time; default 1,024. */
  concurrency?: number | undefined;
  /** Use a separate socket for each session, so that no result waits for another. Default false. */
  ownSockets?: boolean | undefined;
}

/** Options of `connectVector` with a provider. */
export interface VectorStartOptions<S, C extends ClientContract = GenericContract> extends VectorOptions<C> {
  /** The argument of `provider.start`. */
  start: S;
  /** Number of servers to start; default 1. */
  servers?: number | undefined;
}

export const DEFAULT_TIMEOUT_MS = 60_000;
export const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;

/** The request headers for these options. */
export function requestHeaders(options: ConnectOptions): Record<string, string> {
  return { ...options.headers, ...(options.token ? { authorization: `Bearer ${options.token}` } : {}) };
}
