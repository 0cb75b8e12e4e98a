import type { Fault } from "#core/errors.js";
import type { JsonObject, ServerMessage } from "#core/protocol/messages.js";
import type { RolloutEvent } from "#core/protocol/rollouts.js";
import { isToolAction, type ToolErrorBody, toolFault } from "#core/protocol/tools.js";
import type { SessionEvent } from "#core/session/calls/session-event.js";
import { isObject } from "#core/util/is-object.js";
import { clip } from "#core/util/text/clip.js";

/** The member of an observation's metadata with the named parts of a reward. */
const COMPONENTS = "reward_components";
const MAX_NAME = 200;

type Given = SessionEvent["answer"];
interface Outcome extends Pick<RolloutEvent, "reward" | "components" | "error"> {
  done: boolean;
  isTruncated: boolean;
}

const NOTHING: Outcome = { reward: null, components: null, error: null, done: false, isTruncated: false };

export function toolOf(type: SessionEvent["type"], request: JsonObject): string | null {
  if (type === "tool") return nameOf(request["name"]);
  if (type !== "step" || !isToolAction(request)) return null;
  return nameOf(request["tool_name"] ?? request["type"]);
}

export function nameOf(value: unknown): string | null {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return null;
  return clip(String(value), MAX_NAME);
}

/** True for an answer with an observation, which can be one with the error of a tool. */
export function isObservation(answer: Given): answer is Extract<ServerMessage, { type: "observation" }> {
  return "type" in answer && answer.type === "observation";
}

/** What an answer means for its episode. This runs at every step. */
export function readOutcome(answer: Given): Outcome {
  if (!("type" in answer)) return answer.error === null ? NOTHING : { ...NOTHING, error: toolFailure(answer.error) };
  if (answer.type === "error") {
    const { code, message, fault } = answer.data;
    return { ...NOTHING, error: { code, message, fault } };
  }
  if (!isObservation(answer)) return NOTHING;
  const { observation, reward, done, metadata } = answer.data;
  const { error } = observation;
  return {
    reward: reward === null ? null : Number(reward),
    components: metadata === undefined ? null : readComponents(metadata[COMPONENTS]),
    error: isObject(error) && "error_type" in error ? toolFailure(error as unknown as ToolErrorBody) : null,
    done,
    isTruncated: metadata?.["truncated"] === true,
  };
}

function readComponents(given: unknown): Record<string, number> | null {
  const parts = isObject(given) ? Object.entries(given).filter(([, part]) => typeof part === "number") : [];
  return parts.length === 0 ? null : (Object.fromEntries(parts) as Record<string, number>);
}

function toolFailure(error: ToolErrorBody): { code: string; message: string; fault: Fault } {
  return { code: error.code ?? error.error_type, message: error.message, fault: toolFault(error) ?? "environment" };
}
