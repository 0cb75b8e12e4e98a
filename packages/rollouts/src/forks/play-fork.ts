import { OpenEnvError } from "#core/errors.js";
import type { JsonObject } from "#core/protocol/messages.js";
import type { RolloutEvent } from "#core/protocol/rollouts.js";
import type { PlayedSession } from "#core/server/plugins/plugin.js";
import type { SessionEvent } from "#core/session/calls/session-event.js";
import { findDifference } from "#core/util/first-difference.js";
import { readAnswer } from "../store/event-lines.js";
import { readOutcome } from "../store/outcome.js";

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
  let last: SessionEvent["answer"] | undefined;
  for (const event of prefix) {
    last = await session.play({ type: event.type, request: requestOf(event, seed) });
    compare(event, last);
  }
  for (let step = 0; step < maxSteps && !session.done; step++) {
    signal.throwIfAborted();
    const { observation = {}, reward = null } = (last && readAnswer(last)) ?? {};
    const action = await policy({ step, observation, reward });
    if (action === null) break;
    const answer = await session.play({ type: "step", request: action });
    const { error } = readOutcome(answer);
    // A mistake of the policy ends nothing; without an answer it has no new observation either.
    if (readAnswer(answer) !== null) last = answer;
    else if (error?.fault !== "client") return null;
  }
  return session.reward;
}

function requestOf({ type, request, tool }: RolloutEvent, seed: number | undefined): JsonObject {
  const { episode_id: _, ...own } = request ?? {};
  if (type === "tool") return { name: tool, arguments: own["arguments"] ?? {} };
  return type === "reset" && seed !== undefined ? { seed, ...own } : own;
}

/** @throws OpenEnvError (NOT_RESTORABLE) */
function compare({ event, answer, error }: RolloutEvent, now: SessionEvent["answer"]): void {
  const found = findDifference(comparable(answer, error), comparable(readAnswer(now), readOutcome(now).error));
  if (found === undefined) return;
  const [was, is] = [found.one, found.other].map((value) => (JSON.stringify(value) ?? "missing").slice(0, 80));
  throw new OpenEnvError(
    "NOT_RESTORABLE",
    `The episode cannot be played again: ${found.path} of event ${event} was ${was} and is ${is}. Its environment must honour the seed of its reset.`,
  );
}

/** What must be equal, as JSON: metadata may say how a step was served. */
function comparable(answer: RolloutEvent["answer"], error: RolloutEvent["error"]): unknown {
  if (answer === null) return { error: error?.code };
  const { metadata: _, ...compared } = answer;
  return JSON.parse(JSON.stringify(compared));
}
