import { OpenEnvError } from "#core/errors.js";
import type { JsonObject } from "#core/protocol/messages.js";
import type { RolloutEvent } from "#core/protocol/rollouts.js";
import type { PlayedSession, PluginAnswer } from "#core/server/plugins/plugin.js";
import { findDifference } from "#core/util/first-difference.js";

/** What a policy of forks sees. Null: it has no further action. */
export type ForkPolicy = (turn: {
  /** Steps of the fork after the copied ones. */
  step: number;
  observation: JsonObject;
  reward: number | null;
}) => JsonObject | null | Promise<JsonObject | null>;

export interface ForkPlan {
  /** The recorded events up to the step, the reset first. */
  prefix: readonly RolloutEvent[];
  /** The seed that the episode had; undefined if its reset names one, or it used none. */
  seed: number | undefined;
  policy: ForkPolicy;
  /** Steps after the copied ones. */
  maxSteps: number;
}

/**
 * Plays a recorded episode again up to a step, compares each answer with the recorded one, and lets the policy play on to
 * the end. Returns the sum of all rewards; null for an episode that failed through no fault of the policy.
 * @throws OpenEnvError (NOT_RESTORABLE) when an answer differs.
 */
export async function playFork(session: PlayedSession, plan: ForkPlan, signal: AbortSignal): Promise<number | null> {
  const { prefix, seed, policy, maxSteps } = plan;
  let last: PluginAnswer | undefined;
  for (const event of prefix) {
    last = await session.play({ type: event.type, request: requestOf(event, seed) });
    compare(event, last);
  }
  for (let step = 0; step < maxSteps && !session.done; step++) {
    signal.throwIfAborted();
    const { observation = {}, reward = null } = readAnswer(last);
    const action = await policy({ step, observation, reward });
    if (action === null) break;
    const answer = await session.play({ type: "step", request: action });
    const { error } = readAnswer(answer);
    // A mistake of the policy ends nothing; it has no new observation either.
    if (error === undefined) last = answer;
    else if (error.fault !== "client") return null;
  }
  return session.reward;
}

function requestOf({ type, request, tool }: RolloutEvent, seed: number | undefined): JsonObject {
  const { episode_id: _, ...own } = request ?? {};
  if (type === "tool") return { name: tool, arguments: own["arguments"] ?? {} };
  return type === "reset" && seed !== undefined ? { seed, ...own } : own;
}

interface Read {
  observation?: JsonObject;
  reward?: number | null;
  done?: boolean;
  error?: { code: string; fault: string };
}

function readAnswer(answer: PluginAnswer | undefined): Read {
  if (answer === undefined) return {};
  if (!("type" in answer)) {
    const { error, result } = answer;
    if (error === null) return { observation: { result }, reward: null, done: false };
    return { error: { code: error.code ?? error.error_type, fault: "client" } };
  }
  const { data } = answer as { data: JsonObject };
  if (answer.type === "error") return { error: { code: String(data["code"]), fault: String(data["fault"]) } };
  const { observation, reward, done } = data;
  const { metadata: _, ...fields } = observation as JsonObject;
  return { observation: fields, reward: reward === null ? null : Number(reward), done: done === true };
}

/** @throws OpenEnvError (NOT_RESTORABLE) */
function compare({ event, answer, error }: RolloutEvent, now: PluginAnswer): void {
  const read = readAnswer(now);
  const recorded = answer && { observation: answer.observation, reward: answer.reward, done: answer.done };
  const found = findDifference(
    JSON.parse(JSON.stringify(recorded ?? { error: error?.code })),
    JSON.parse(JSON.stringify(read.error === undefined ? read : { error: read.error.code })),
  );
  if (found === undefined) return;
  const [was, is] = [found.one, found.other].map((value) => (JSON.stringify(value) ?? "missing").slice(0, 80));
  throw new OpenEnvError(
    "NOT_RESTORABLE",
    `The episode cannot be played again: ${found.path} of event ${event} was ${was} and is ${is}. Its environment must honour the seed of its reset.`,
  );
}
