import type { ErrorData, ObservationData, ServerMessage } from "../../protocol/messages.js";
import { isAgentsDoing, type ToolErrorBody } from "../../protocol/tools.js";
import type { Progress } from "./session-event.js";

export const NO_PROGRESS: Progress = {
  episodeId: null,
  stepCount: 0,
  episodes: 0,
  earlierSteps: 0,
  done: false,
  reward: 0,
  failedSteps: 0,
  callsAreSteps: false,
};

/** The progress of a session at the start of an episode. */
export function beginEpisode(before: Progress, episodeId: string): Progress {
  const { episodes, earlierSteps, stepCount, callsAreSteps } = before;
  return {
    ...{ ...NO_PROGRESS, episodeId, callsAreSteps },
    episodes: episodes + 1,
    earlierSteps: earlierSteps + stepCount,
  };
}

/** Adds the answer to a step to the result of the episode. */
export function countAnswer(progress: Progress, answer: ServerMessage): void {
  if (answer.type === "observation") {
    const { done, reward, observation } = answer.data as ObservationData;
    if (done) progress.done = true;
    if (reward !== null) progress.reward += Number(reward);
    else if (progress.callsAreSteps && !isAgentsDoing({ error: observation["error"] as ToolErrorBody | null })) {
      progress.failedSteps++;
    }
  } else if (answer.type === "error") {
    const { code, openenv_code } = answer.data as ErrorData;
    if (code !== "VALIDATION_ERROR" && openenv_code === undefined) progress.failedSteps++;
  }
}
