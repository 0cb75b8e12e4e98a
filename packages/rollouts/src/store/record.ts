import { EPISODE_FORMAT, type EpisodeRecord, type RecordedFailure, type RecordedStep } from "#core/protocol/episode.js";
import type { JsonObject } from "#core/protocol/messages.js";
import type { RolloutDetail, RolloutEvent } from "#core/protocol/rollouts.js";

/**
 * The episode as `openenv collect` writes it. `number`: of the episode in its file. Without contents, actions and
 * observations are empty.
 */
export function toRecord({ episode, reset, events }: RolloutDetail, number: number): EpisodeRecord {
  const [first, ...more] = events;
  const calls = first?.type === "reset" ? more : events;
  const steps: RecordedStep[] = [];
  const failures: RecordedFailure[] = first?.type === "reset" && first.answer === null ? [toFailure(first, 0)] : [];
  for (const event of calls) {
    if (event.answer === null && event.error !== null) failures.push(toFailure(event, steps.length));
    else steps.push({ action: actionOf(event), ...toResult(event) });
  }
  const isLost = episode.outcome === "failed" || episode.outcome === "incomplete";
  const end = episode.outcome === "done" || episode.outcome === "truncated" ? "done" : "policy";
  return {
    format: EPISODE_FORMAT,
    episode: number,
    environment: episode.env,
    url: "",
    started_at: new Date(episode.startedAt).toISOString(),
    reset,
    start: toResult(first?.type === "reset" ? first : undefined),
    steps,
    ...(failures.length > 0 && { failures }),
    total_reward: isLost ? null : (episode.reward ?? 0),
    end: isLost ? "lost" : end,
  };
}

/** A tool call outside of steps is shown as the step that it could have been. */
export function actionOf({ type, request, tool }: RolloutEvent): JsonObject {
  if (type !== "tool") return request ?? {};
  return { type: "call_tool", tool_name: tool, arguments: request?.["arguments"] ?? {} };
}

function toResult(event: RolloutEvent | undefined): Omit<RecordedStep, "action" | "text"> {
  const { observation = {}, reward = null, done = false, metadata } = event?.answer ?? {};
  return { observation, reward: event?.reward ?? reward, done, ...(metadata && { metadata }), ms: event?.ms ?? 0 };
}

function toFailure({ type, request, error, ms }: RolloutEvent, after: number): RecordedFailure {
  const { code, message } = error ?? { code: "EXECUTION_ERROR", message: "" };
  return { kind: type === "reset" ? "reset" : "step", after, action: request ?? {}, code, message, ms };
}
