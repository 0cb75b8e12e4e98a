import type { ResetOptions } from "../protocol/codec/codec.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ClientContract, GenericContract, Sent } from "./contract/contract.js";

/** Options of one call. */
export interface CallOptions {
  /** Milliseconds to wait for the answer, once the call was sent; default that of the client. Then the session is lost. */
  timeoutMs?: number | undefined;
  /** Aborting a call that was already sent loses the session; one that still waits for its turn is only taken back. */
  signal?: AbortSignal | undefined;
}

export interface StepOptions extends CallOptions {
  /** Free-form data for the environment beside the action (`action.metadata` on the wire). */
  metadata?: JsonObject | undefined;
}

/** Options of `connect`. */
export interface ConnectOptions {
  /** Headers of the handshake and of every HTTP request. Browsers cannot send them on a WebSocket. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as `Authorization: Bearer <token>`; where a WebSocket cannot have headers, as a subprotocol. */
  token?: string | undefined;
  /** Milliseconds a call waits for its answer; default 60,000. */
  timeoutMs?: number | undefined;
  /** Milliseconds until a connection must be open; default 10,000. */
  connectTimeoutMs?: number | undefined;
  /** Ask the server where the time of each call goes: `result.metadata.openenv`. Default false. */
  timing?: boolean | undefined;
  /**
   * Speak MessagePack instead of JSON with a server that can: smaller and faster for numbers, long texts and bytes.
   * Default false.
   */
  binary?: boolean | undefined;
  /** False skips the comparison of contracts, and without a contract the fetch of `/schema`. Default true. */
  check?: boolean | undefined;
  /** Aborts the connecting; a client that is open is ended with `close()`. */
  signal?: AbortSignal | undefined;
}

/**
 * What happens when the episode of a session has ended or was lost. `disabled`: nothing until `reset`. `next-step`: its
 * next step starts a new episode, and the action is not used. `same-step`: the step that ended it starts a new one, whose
 * first result is in `next`.
 */
export type Autoreset = "disabled" | "next-step" | "same-step";

/** What a reset takes: the options of the protocol, and those of the contract. */
export type ResetValues<C extends ClientContract> = ResetOptions & Sent<C["reset"]>;

/** Options of `connectVector`. */
export interface VectorOptions<C extends ClientContract = GenericContract> extends ConnectOptions {
  /** How many sessions. */
  size: number;
  /** Default `disabled`. */
  autoreset?: Autoreset | undefined;
  /** The options of a reset by `autoreset`, by the index of the session; default none, so no seed. */
  resetWith?: ((index: number) => ResetValues<C>) | undefined;
  /** At most so many sessions are called or opened at the same time; default 1,024. */
  concurrency?: number | undefined;
  /** A socket for each session instead of one for many, so that no result waits for another. Default false. */
  ownSockets?: boolean | undefined;
}

/** Options of `connectVector` with a provider. */
export interface VectorStartOptions<S, C extends ClientContract = GenericContract> extends VectorOptions<C> {
  /** What `provider.start` is given. */
  start: S;
  /** How many servers to start; default 1. */
  servers?: number | undefined;
}

export const DEFAULT_TIMEOUT_MS = 60_000;
export const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;

/** The headers that the options ask for. */
export function requestHeaders(options: ConnectOptions): Record<string, string> {
  return { ...options.headers, ...(options.token ? { authorization: `Bearer ${options.token}` } : {}) };
}
