import { ConnectionError, RemoteError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";
import type { ClientContract, GenericContract, Received } from "./contract/contract.js";

/** What a reset or a step gave. */
export interface StepResult<O = JsonObject> {
  /** `terminated`: the episode came to its end. `truncated`: it was cut off (a time limit). */
  readonly outcome: "ok" | "terminated" | "truncated";
  readonly observation: O;
  readonly reward: number | boolean | null;
  readonly done: boolean;
  /** Free-form data of the environment, `{}` without. */
  readonly metadata: JsonObject;
  /** What the server did not like about the call but let pass. */
  readonly warnings: readonly string[];
}

/**
 * Where a result should be and none is to be had: mask it, it is no reward of 0.
 * `env_error`: the server answered an error. `lost`: there was no answer; the episode is gone.
 */
export type FailedResult = Failure<RemoteError> | Failure<ConnectionError>;

interface Failure<E extends RemoteError | ConnectionError> {
  readonly outcome: E["outcome"];
  readonly error: E;
  readonly observation: null;
  readonly reward: null;
  /** True when the session has ended, null when it lives on: the step can be repeated or the episode reset. */
  readonly done: true | null;
  readonly metadata: JsonObject;
  readonly warnings: readonly string[];
}

/** What a session of a vector environment gave; `outcome`, `observation` and `reward` are always those of the call itself. */
export type VectorResult<C extends ClientContract = GenericContract> = TryResult<C> & VectorPosition<C>;

/** What a call that does not reject gave. */
export type TryResult<C extends ClientContract> = StepResult<Received<C["observation"]>> | FailedResult;

/** Where the result of a session belongs. */
export interface VectorPosition<C extends ClientContract> {
  /** Which session, from 0. */
  readonly index: number;
  /** True for the first result of an episode: of a reset, or of a step that autoreset replaced with one. */
  readonly began: boolean;
  /** True when this or `next` is the first result of a session that replaces a lost one. */
  readonly reopened: boolean;
  /** The first result of the next episode, with `same-step`. */
  readonly next: TryResult<C> | null;
}

/**
 * Reads the data of an `observation` frame. `metadata` is taken out of the observation and put beside it.
 * @throws ConnectionError PROTOCOL_ERROR when it has another shape.
 */
export function parseResult(data: JsonObject, extensions: readonly string[]): StepResult {
  const { observation, reward = null, done, metadata: outer } = data;
  if (!isObject(observation)) throw misfit("observation", "an object");
  if (typeof done !== "boolean") throw misfit("done", "a boolean");
  if (reward !== null && typeof reward !== "number" && typeof reward !== "boolean") {
    throw misfit("reward", "a number, a boolean or null");
  }
  const { metadata: inner, ...fields } = observation;
  const metadata = isObject(outer) ? outer : isObject(inner) ? inner : {};
  return {
    outcome: done ? (metadata["truncated"] === true ? "truncated" : "terminated") : "ok",
    observation: fields,
    reward,
    done,
    metadata,
    warnings: extensions.includes("warnings") ? parseWarnings(metadata["openenv"]) : [],
  };
}

/**
 * Reads the data of a `state` frame: `episode_id` (null when unset) and `step_count` first.
 * @throws ConnectionError PROTOCOL_ERROR when it has another shape.
 */
export function parseState(data: JsonObject): EpisodeState & JsonObject {
  const { episode_id = null, step_count = 0, ...fields } = data;
  if (episode_id !== null && typeof episode_id !== "string") throw misfit("episode_id", "a string or null");
  if (typeof step_count !== "number") throw misfit("step_count", "a number");
  return { episode_id, step_count, ...fields };
}

/** What every state has; the names are those of the wire. */
export interface EpisodeState {
  episode_id: string | null;
  step_count: number;
}

/** Codes of an answer after which the server has no session. */
const ENDED: readonly string[] = ["TIMEOUT", "ISOLATE_LOST", "SESSION_ERROR", "CAPACITY_REACHED", "FACTORY_ERROR"];

/** The failure as a result; anything but a failure of server or connection is thrown on. */
export function toFailedResult(error: unknown): FailedResult {
  const rest = { observation: null, reward: null, metadata: {}, warnings: [] } as const;
  if (error instanceof RemoteError) {
    return { outcome: error.outcome, error, done: ENDED.includes(error.wireCode) ? true : null, ...rest };
  }
  if (error instanceof ConnectionError) return { outcome: error.outcome, error, done: true, ...rest };
  throw error;
}

function parseWarnings(extension: unknown): string[] {
  const warnings = isObject(extension) ? extension["warnings"] : undefined;
  return Array.isArray(warnings) ? warnings.map(String) : [];
}

function misfit(field: string, expected: string): ConnectionError {
  return new ConnectionError(
    "PROTOCOL_ERROR",
    `The server's answer has no fitting "${field}": it must be ${expected}.`,
  );
}
