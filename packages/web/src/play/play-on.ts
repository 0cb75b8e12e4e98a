import type { RolloutDetail, RolloutEvent } from "openenv-ts/protocol";
import { stepInWords } from "../parts/text/format.js";
import { ask } from "../server/get.js";
import type { Play } from "./play.js";
import { differenceOf, resetAgain } from "./replay.js";
import type { NewStep } from "./timeline.js";

/** The requests of a recorded episode as steps to play again, with the seed that the episode had. */
export function recordedSteps(events: readonly RolloutEvent[], seed: number | null): NewStep[] {
  return events.map(({ type, request, answer, error, ms, at }) => {
    const isReset = type === "reset";
    return {
      kind: isReset ? "reset" : "step",
      action: { ...(isReset && seed !== null && { seed }), ...request },
      observation: answer?.observation ?? null,
      reward: answer?.reward ?? null,
      done: answer?.done ?? false,
      metadata: answer?.metadata,
      view: undefined,
      // A tool that refused has an answer, and is played again.
      failure: answer || !error ? undefined : { code: error.code, message: error.message, issues: [] },
      counted: answer !== null,
      ms,
      at,
      exchange: undefined,
    };
  });
}

/** False where a request was not recorded, or was outside of a socket, as a call of MCP. */
export function canPlayAgain(events: readonly RolloutEvent[]): boolean {
  return events[0]?.type === "reset" && events.every(({ type, request }) => type !== "tool" && request !== null);
}

/** Plays a recorded episode again up to an event, in the session of the page, where the visitor plays on. */
export async function playOn(play: Play, id: string, event: number): Promise<void> {
  try {
    const detail = await ask<RolloutDetail>(`/rollouts/${encodeURIComponent(id)}?limit=${event + 1}`);
    const problem = canPlayAgain(detail.events)
      ? await playAgain(play, recordedSteps(detail.events, detail.episode.seed))
      : "The requests of this episode are not all recorded, or some were calls over MCP.";
    play.playedAgain(id, problem);
  } catch (error) {
    play.playedAgain(id, (error as Error).message);
  }
}

/** Returns why the episode cannot be continued. */
async function playAgain(play: Play, steps: readonly NewStep[]): Promise<string | undefined> {
  for (const [event, recorded] of steps.entries()) {
    const { kind, action, failure } = recorded;
    if (failure) continue;
    const now = kind === "reset" ? await play.reset(resetAgain(action)) : await play.send(action);
    if (now === undefined) return "The connection was lost.";
    const [change] = differenceOf(recorded, now).changes;
    if (change) return `The answer to ${stepInWords(event)} is not the recorded one: ${change.path} differs.`;
  }
  return undefined;
}
