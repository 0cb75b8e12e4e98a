import { type McpToolClient, RemoteError, ToolCallError } from "openenv-ts/client";
import { findDifference } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";

/** The first answer of an episode that is not the recorded one. */
export interface EpisodeDifference {
  event: number;
  kind: ReplayEvent["kind"];
  /** The path of the field, such as `observation.count`; `error` when one of the two answers is an error. */
  field: string;
  /** Undefined where one of the two has no such field. */
  recorded: unknown;
  replayed: unknown;
  /** The message of an error that was not recorded. */
  message?: string;
}

/** What is replayed: the request of an event and its recorded answer. */
export interface ReplayEvent {
  /** Its number in the episode of a file, or in its session. */
  event: number;
  kind: "reset" | "step" | "tool";
  request: JsonObject;
  answer: JsonObject;
}

/** A client that also calls tools outside of steps, where the events have such calls. */
export type Player = Pick<McpToolClient, "reset" | "step"> & Partial<Pick<McpToolClient, "callTool">>;

/**
 * Plays the events of an episode again up to the first one whose answer differs from the recorded one.
 * @throws ConnectionError when there is no answer, so that nothing can be compared.
 */
export async function replayEpisode(
  env: Player,
  all: readonly ReplayEvent[],
  ignore: readonly string[],
): Promise<{ played: number; difference: EpisodeDifference | undefined }> {
  for (const [index, { event, kind, request, answer }] of all.entries()) {
    const now = await answerTo(() => perform(env, kind, request));
    const found = findDifference(answer, now.answer, (path) => ignore.includes(path));
    if (found === undefined) continue;
    const { path: field, one, other } = found;
    const message = now.message === undefined ? {} : { message: now.message };
    return { played: index + 1, difference: { event, kind, field, recorded: one, replayed: other, ...message } };
  }
  return { played: all.length, difference: undefined };
}

async function perform(env: Player, kind: ReplayEvent["kind"], request: JsonObject): Promise<JsonObject> {
  if (kind === "reset") return comparable({ ...(await env.reset(request)) });
  if (kind === "step") return comparable({ ...(await env.step(request)) });
  const called = await env.callTool?.(String(request["name"]), request["arguments"] as JsonObject);
  return { error: null, result: called?.data };
}

/** The answer to a reset or a step, without what says how it was served. */
export function comparable({ observation, reward, done, metadata = {} }: JsonObject): JsonObject {
  // A record and the wire have the metadata with the observation as well.
  const { metadata: _, ...fields } = observation as JsonObject;
  const { openenv: _ours, ...own } = metadata as JsonObject;
  const score = typeof reward === "boolean" ? Number(reward) : reward;
  return { error: null, observation: fields, reward: score, done, metadata: own };
}

/** The answer as JSON, like the recorded one; the message of an error can change, its code cannot. */
async function answerTo(call: () => Promise<JsonObject>): Promise<{ answer: JsonObject; message?: string }> {
  try {
    return { answer: JSON.parse(JSON.stringify(await call())) as JsonObject };
  } catch (error) {
    if (error instanceof ToolCallError) return { answer: { error: error.errorType }, message: error.message };
    if (!(error instanceof RemoteError)) throw error;
    return { answer: { error: error.wireCode }, message: error.message };
  }
}
