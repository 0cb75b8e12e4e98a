import { ConnectionError, RemoteError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";
import type { ClientContract, GenericContract, Received } from "./contract/contract.js";

/** The result of a reset or a step. */
export interface StepResult<O = JsonObject> {
  /** `terminated`: the episode ended. `truncated`: a limit, such as a time limit, ended it. */
  readonly outcome: "ok" | "terminated" | "truncated";
  readonly observation: O;
  readonly reward: number | boolean | null;
  readonly done: boolean;
  /** Free-form data of the environment; `{}` if there is none. */
  readonly metadata: JsonObject;
  /** Problems with the call that the server accepted. */
  readonly warnings: readonly string[];
  /**
   * Equal for equal states of the environment, also of other sessions and servers, with the option `digest`:
   * `state_key:`, `snapshot:` or `observation:`, what it was taken from, and a SHA-256 (hex).
   */
  readonly digest?: string;
  /**
   * The number of the event in the session, for `env.at(event)`. Of one session, with the option `resume` or in process.
   */
  readonly event?: number;
  /** True when the connection was lost during the call and the session was resumed. */
  readonly recovered?: boolean;
  /**
   * The page of the session on its server, for a log: its episodes with those of the session before them. The address
   * gives no access to the session. Missing in process, and from servers that do not name their sessions.
   */
  readonly url?: string;
}

/**
 * Takes the place of a result when a call fails: mask it, it is not a reward of 0.
 * `env_error`: the server answered with an error. `lost`: there was no answer; the episode is lost. For programs that keep
 * only metadata, `metadata` has the code of the error as `error_code`, its `fault`, and `lost: true` for a lost episode.
 */
export type FailedResult = Failure<RemoteError> | Failure<ConnectionError>;

interface Failure<E extends RemoteError | ConnectionError> {
  readonly outcome: E["outcome"];
  readonly error: E;
  readonly observation: null;
  readonly reward: null;
  /** True when the session has ended, null when it is still open: repeat the step or reset. */
  readonly done: true | null;
  readonly metadata: JsonObject;
  readonly warnings: readonly string[];
  readonly recovered?: never;
  readonly digest?: never;
  readonly event?: never;
  readonly url?: never;
}

/** The result of one session of a vector environment; `outcome`, `observation` and `reward` are those of the call. */
export type VectorResult<C extends ClientContract = GenericContract> = TryResult<C> & VectorPosition<C>;

/** The result of a call that reports failures instead of rejecting. */
export type TryResult<C extends ClientContract> = StepResult<Received<C["observation"]>> | FailedResult;

/** The session and the episode that a result belongs to. */
export interface VectorPosition<C extends ClientContract> {
  /** The index of the session, from 0. */
  readonly index: number;
  /** True for the first result of an episode: of a reset, or of a step that autoreset replaced with a reset. */
  readonly began: boolean;
  /** True when this or `next` is the first result of a session that replaces a lost one. */
  readonly reopened: boolean;
  /**
   * The number of the group that the episode belongs to, after `resetGroups`; otherwise null. Also `group_id` of the
   * metadata, unless the environment has one.
   */
  readonly groupId: number | null;
  /** The first result of the next episode, with `same-step`. */
  readonly next: TryResult<C> | null;
}

/**
 * Reads the data of an `observation` frame. `metadata` is moved from the observation to the result.
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
  const digest =
    extensions.includes("digest") && isObject(metadata["openenv"]) ? metadata["openenv"]["digest"] : undefined;
  return {
    outcome: done ? (metadata["truncated"] === true ? "truncated" : "terminated") : "ok",
    observation: fields,
    reward,
    done,
    metadata,
    warnings: extensions.includes("warnings") ? parseWarnings(metadata["openenv"]) : [],
    ...(typeof digest === "string" && { digest }),
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

/** The fields of every state, with their names on the wire. */
export interface EpisodeState {
  episode_id: string | null;
  step_count: number;
}

/** What a result has of its session; nothing without its public name. A name in the address would give access to it. */
export function linkTo(base: string, handle: string | undefined): { url?: string } {
  return handle === undefined ? {} : { url: `${base.replace(/\/session\/[^/]+$/, "")}/web/#/session/${handle}` };
}

/** The error codes after which the server has no session. */
const ENDED: readonly string[] = ["TIMEOUT", "ISOLATE_LOST", "SESSION_ERROR", "CAPACITY_REACHED", "FACTORY_ERROR"];

/** Converts a failure to a result; throws any other error. */
export function toFailedResult(error: unknown): FailedResult {
  if (!(error instanceof RemoteError) && !(error instanceof ConnectionError)) throw error;
  const metadata = { error_code: error.code, fault: error.fault, ...(error.outcome === "lost" && { lost: true }) };
  const rest = { observation: null, reward: null, metadata, warnings: [] } as const;
  if (error instanceof RemoteError) {
    return { outcome: error.outcome, error, done: ENDED.includes(error.wireCode) ? true : null, ...rest };
  }
  return { outcome: error.outcome, error, done: true, ...rest };
}

function parseWarnings(extension: unknown): string[] {
  const warnings = isObject(extension) ? extension["warnings"] : undefined;
  return Array.isArray(warnings) ? warnings.map(String) : [];
}

function misfit(field: string, expected: string): ConnectionError {
  return new ConnectionError(
    "PROTOCOL_ERROR",
    `The server's answer has an invalid "${field}": it must be ${expected}.`,
  );
}
