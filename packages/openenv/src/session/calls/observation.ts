import type { Environment, Transition } from "../../environment/environment.js";
import type { Relay } from "../../environment/relay.js";
import type { JsonObject, ObservationData, ServerMessage } from "../../protocol/messages.js";
import { after } from "../../util/async/after.js";
import { isObject } from "../../util/is-object.js";
import { clip } from "../../util/text/clip.js";
import type { Eventual } from "../../util/types.js";
import { toError } from "../failure.js";
import type { Runtime } from "../runtime.js";
import type { Call } from "./call.js";
import { digestState } from "./digest.js";

/** Maximum number of reported reset options, and maximum length of each name. */
const MAX_DROPPED = 20;
const MAX_NAME = 100;

/** The environment and session of a call. */
export interface CallTarget {
  readonly environment: Environment;
  readonly session: CallSession;
  /** Set if the environment passes its messages on. */
  readonly relay?: Relay | undefined;
}

export interface CallSession {
  readonly runtime: Runtime;
  readonly id: string;
  /** The first eight digits of the id as a number. */
  readonly tag: number;
  readonly stepCount: number;
  readonly progress: { readonly episodeId: string | null };
  readonly events: { readonly plugins: { readonly views?: boolean } | undefined };
}

type ObservationMessage = Extract<ServerMessage, { type: "observation" }>;

/** The answer for a result of reset or step. @throws InvalidOutputError when the result does not fit the contract. */
export function observe(
  transition: Transition,
  call: Call,
  { environment, session }: CallTarget,
): ServerMessage | Promise<ServerMessage> {
  const { validator, definition } = session.runtime;
  // Views show declared observations. A tool's observation is declared only by a tools-only contract.
  const isDeclared = call.kind !== "tool" || definition.contract.toolsOnly;
  const checked =
    call.kind === "reset"
      ? validator.resetTransition(transition)
      : call.kind === "tool"
        ? validator.toolTransition(transition)
        : validator.transition(transition);
  const { observation, reward, done, nonFinite } = checked;
  if (nonFinite > 0) reportNonFinite(session, call.kind === "reset" ? "reset" : "step", nonFinite);
  let { metadata } = checked;
  const { timing, warnings, view, digest } = call.options;
  const hasWarnings = warnings === true && (nonFinite > 0 || call.warnings !== undefined);
  if (transition.truncated === true || timing === true || hasWarnings) {
    metadata = annotate(metadata, call, { transition, nonFinite, session });
  }
  // Some trainers, such as AgileRL, read it in the observation. A typed client refuses a field that is not declared.
  if (transition.truncated === true && isDeclared && "truncated" in definition.contract.observation.shape) {
    observation["truncated"] = true;
  }
  observation["metadata"] = metadata;
  const data: ObservationData = { observation, reward, done };
  for (const _any in metadata) {
    data.metadata = metadata;
    break;
  }
  let message: ObservationMessage | Promise<ObservationMessage> = { type: "observation", data };
  if (digest === true) message = addDigest(message, call, { environment, session });
  const isRecorded = isDeclared && environment.render !== undefined && session.events.plugins?.views === true;
  if (view !== true && !isRecorded) return message;
  return addView(message, isDeclared ? transition.observation : undefined, call, { environment, session });
}

/** The answer to a state request. */
export function readState({ environment, session }: CallTarget): Eventual<ServerMessage> {
  return after(environment.state?.() ?? {}, (own) => {
    const { value, nonFinite } = session.runtime.validator.state(own);
    if (nonFinite > 0) reportNonFinite(session, "state", nonFinite);
    return { type: "state", data: { ...value, episode_id: session.progress.episodeId, step_count: session.stepCount } };
  });
}

/** Counts and logs NaN and infinities, which have no JSON form. */
function reportNonFinite({ runtime, id }: CallSession, method: "reset" | "step" | "state", count: number): void {
  runtime.statistics.counts.openenv_values_not_finite_total += count;
  runtime.log.warn({ session: id, count }, `${method} returned NaN or infinities; they were sent as null`);
}

/** Logs the ignored options of a reset. Returns the warnings for a peer that requested them. */
export function reportDropped({ runtime, id }: CallSession, names: readonly string[]): string[] {
  const { log, definition } = runtime;
  const declared = Object.keys(definition.contract.reset.shape).join(", ") || "none";
  const dropped = names.slice(0, MAX_DROPPED).map((name) => clip(name, MAX_NAME));
  const more = names.length - dropped.length;
  log.warn({ session: id, dropped, more, declared }, "undeclared reset options were dropped");
  const options = ` (declared: ${declared})`;
  const warnings = dropped.map(
    (name, i) => `reset option "${name}" is not declared and was dropped${i > 0 ? "" : options}`,
  );
  return more === 0 ? warnings : [...warnings, `${more} more reset options are not declared and were dropped`];
}

/** Adds the digest of the state, or a warning that says why there is none. */
async function addDigest(
  message: ObservationMessage,
  { options }: Call,
  { environment, session: { runtime, id } }: CallTarget,
): Promise<ObservationMessage> {
  const { observation } = message.data;
  const { metadata, ...fields } = observation;
  const before = metadata as JsonObject;
  const ours = isObject(before["openenv"]) ? before["openenv"] : {};
  const add = (more: JsonObject): ObservationMessage => {
    message.data.metadata = observation["metadata"] = { ...before, openenv: { ...ours, ...more } };
    return message;
  };
  try {
    return add({ digest: await digestState(environment, fields) });
  } catch (error) {
    const { message: reason } = toError(error);
    runtime.log.warn({ err: error, session: id }, "no digest of the state could be made");
    if (options.warnings !== true) return message;
    const warnings = (ours["warnings"] ?? []) as string[];
    return add({ warnings: [...warnings, `there is no digest of the state: ${reason}`] });
  }
}

export async function addView(
  answered: ServerMessage | Promise<ServerMessage>,
  observation: JsonObject | undefined,
  call: Call,
  target: CallTarget,
): Promise<ServerMessage> {
  const message = await answered;
  if (observation === undefined) return Object.assign(message, { view: { parts: [], actions: [] } });
  // Loaded lazily: only pages and recordings request views, and most servers have neither.
  const { makeView } = await import("./view.js");
  call.view = await makeView(observation, target);
  return call.options.view === true ? Object.assign(message, { view: call.view }) : message;
}

interface AnnotatedTransition {
  transition: Transition;
  nonFinite: number;
  session: CallSession;
}

/** The metadata with `truncated`, and with the timings and warnings that the peer requested as `openenv`. */
function annotate(
  metadata: JsonObject,
  call: Call,
  { transition, nonFinite, session }: AnnotatedTransition,
): JsonObject {
  const annotated: JsonObject = { ...metadata };
  if (transition.truncated === true) annotated["truncated"] = true;
  const ours: JsonObject = {};
  if (call.options.timing === true) {
    ours["session"] = session.id;
    ours["step"] = session.stepCount;
    ours["env_ms"] = performance.now() - call.startedAt;
    ours["queue_ms"] = call.startedAt - call.arrivedAt;
  }
  if (call.options.warnings === true) Object.assign(ours, describeWarnings(call, transition.reward, nonFinite));
  if (Object.keys(ours).length > 0) annotated["openenv"] = ours;
  return annotated;
}

/** `warnings`, and the `reward` if it has no JSON form. */
function describeWarnings({ warnings = [] }: Call, reward: unknown, nonFinite: number): JsonObject {
  const all = [...warnings];
  const isReward = typeof reward === "number" && !Number.isFinite(reward);
  const others = isReward ? nonFinite - 1 : nonFinite;
  if (isReward) all.push(`the reward is ${reward} and was sent as null`);
  if (others > 0) all.push(`${others} NaN or infinite values of the result were sent as null`);
  if (all.length === 0) return {};
  return isReward ? { warnings: all, reward: String(reward) } : { warnings: all };
}
