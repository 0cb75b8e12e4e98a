import type { EnvClient, StepResult } from "openenv-ts/client";
import { findDifference, RemoteError, without } from "openenv-ts/internal";
import type { EpisodeRecord, JsonObject, RecordedStep } from "openenv-ts/protocol";

/** The first answer of an episode that is not the recorded one. */
export interface EpisodeDifference {
  /** The number of the event in its episode: 1 for the reset. */
  event: number;
  kind: "reset" | "step";
  /** The path of the field, such as `observation.count`; `error` when one of the two answers is an error. */
  field: string;
  /** Undefined where one of the two has no such field. */
  recorded: unknown;
  replayed: unknown;
  /** The message of an error that was not recorded. */
  message?: string;
}

/** What is replayed: the request of an event and its recorded answer. */
interface ReplayEvent {
  kind: "reset" | "step";
  request: JsonObject;
  answer: JsonObject;
}

/**
 * Plays the events of an episode again up to the first one whose answer differs from the recorded one.
 * @throws ConnectionError when there is no answer, so that nothing can be compared.
 */
export async function replayEpisode(
  env: EnvClient,
  record: EpisodeRecord,
  ignore: readonly string[],
): Promise<{ events: number; difference: EpisodeDifference | undefined }> {
  let event = 0;
  for (const { kind, request, answer } of eventsOf(record)) {
    event++;
    const now = await answerTo(() => (kind === "reset" ? env.reset(request) : env.step(request)));
    const [recorded, replayed] = without([answer, now.answer], ignore);
    const found = findDifference(recorded, replayed);
    if (found === undefined) continue;
    const { path: field, one, other } = found;
    const message = now.message === undefined ? {} : { message: now.message };
    return { events: event, difference: { event, kind, field, recorded: one, replayed: other, ...message } };
  }
  return { events: event, difference: undefined };
}

/** True for the record of a reset that failed: there is no episode to play again. */
export function hasNoEpisode({ failures = [], steps }: EpisodeRecord): boolean {
  return steps.length === 0 && failures.some(({ kind }) => kind === "reset");
}

function* eventsOf({ reset, start, steps, failures = [] }: EpisodeRecord): Generator<ReplayEvent> {
  // The id of an episode is unique, and the replay is a new episode.
  const { episode_id: _, ...request } = reset;
  yield { kind: "reset", request, answer: recordedAnswer(start) };
  for (let taken = 0; taken <= steps.length; taken++) {
    for (const { after, kind, code, action } of failures) {
      // Requests that failed in other ways did not reach the environment, or ended the session.
      if (kind !== "step" || after !== taken || code !== "EXECUTION_ERROR") continue;
      yield { kind, request: action, answer: { error: code } };
    }
    const step = steps[taken];
    if (step !== undefined) yield { kind: "step", request: step.action, answer: recordedAnswer(step) };
  }
}

function recordedAnswer({ observation, reward, done, metadata = {} }: Omit<RecordedStep, "action">): JsonObject {
  // The page records the metadata with the observation as well.
  const { metadata: _, ...fields } = observation;
  return { error: null, observation: fields, reward, done, metadata: ownMetadata(metadata) };
}

/** The answer as JSON, like the recorded one; the message of an error can change, its code cannot. */
async function answerTo(call: () => Promise<StepResult>): Promise<{ answer: JsonObject; message?: string }> {
  try {
    const { observation, reward, done, metadata } = await call();
    const score = typeof reward === "boolean" ? Number(reward) : reward;
    const answer = { error: null, observation, reward: score, done, metadata: ownMetadata(metadata) };
    return { answer: JSON.parse(JSON.stringify(answer)) as JsonObject };
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    return { answer: { error: error.wireCode }, message: error.message };
  }
}

/** What the server adds says how a request was served. */
function ownMetadata({ openenv: _, ...own }: JsonObject): JsonObject {
  return own;
}
