import type { Relay, RelayedMessage } from "../../environment/relay.js";
import { SessionLostError } from "../../environment/session-lost-error.js";
import { FAULT_OF } from "../../errors.js";
import {
  type ErrorData,
  errorData,
  type JsonObject,
  type ServerMessage,
  type WireCode,
} from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";
import { makeId } from "../../util/make-id.js";
import { clip } from "../../util/text/clip.js";
import { keepText, receivedText } from "../messages/received-text.js";
import type { Runtime } from "../runtime.js";
import type { Call } from "./call.js";
import { addView, type CallTarget } from "./observation.js";
import type { EnvironmentMessage } from "./peer-request.js";
import type { Progress } from "./session-event.js";

interface RelayingSession {
  readonly runtime: Runtime;
  readonly events: {
    begin(call: Call, request: JsonObject): void;
    readonly plugins?: { readonly views?: boolean } | undefined;
  };
  readonly progress: Progress;
  claim(): void;
  /** A reset has succeeded. */
  begun(episodeId: string, arrivedAt: number): void;
}

/**
 * Passes a message on as it was received, and returns the answer with its text. It is not validated here: what is wrong
 * with it, the other server says. @throws SessionLostError, or rejects with it, when the other server has lost the session.
 */
export async function passOn(
  request: EnvironmentMessage,
  call: Call,
  { relay, session, target }: { relay: Relay; session: RelayingSession; target: CallTarget },
): Promise<ServerMessage> {
  const text = receivedText(request);
  const type: RelayedMessage["type"] = request.type === "state" ? "other" : request.type;
  const { data = {} } = request as { data?: JsonObject };
  session.claim();
  if (type === "reset") session.progress.episodeId = null;
  if (type !== "other") session.events.begin(call, data);
  const isShown = call.options.view === true;
  const view = isShown || session.events.plugins?.views === true;
  const answer = readAnswer(await relay.send({ type, text, view }, call));
  // The client has got a TIMEOUT or has disconnected.
  if (call.aborted !== undefined) throw call.aborted;
  if (answer.type !== "observation") return answer;
  if (type === "step") {
    session.progress.stepCount++;
    session.runtime.statistics.endStep(call.arrivedAt, call.startedAt);
  } else if (type === "reset") {
    const { episode_id: id } = data;
    session.begun(typeof id === "string" ? id : makeId(), call.arrivedAt);
  }
  if (!view) return answer;
  // The text of an answer that is not changed stays as it is.
  return addView(isShown ? { ...answer } : answer, answer.data["observation"] as JsonObject, call, target);
}

/** The answer of another server, with the members that this server reads. Its text stays as it is. */
function readAnswer(text: string): ServerMessage {
  const answer = parse(text);
  const data = isObject(answer?.["data"]) ? answer["data"] : {};
  const type = answer?.["type"];
  const read =
    type === "observation" ? readObservation(data) : type === "error" ? readError(data) : readOther(type, data);
  if (read === undefined) throw new SessionLostError(`The server answered with what is no message: ${clip(text, 100)}`);
  keepText(read, text);
  return read;
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readObservation({ observation, reward, done, metadata }: JsonObject): ServerMessage {
  const data = {
    observation: isObject(observation) ? observation : {},
    reward: typeof reward === "number" || typeof reward === "boolean" ? reward : null,
    done: done === true,
    ...(isObject(metadata) && { metadata }),
  };
  return { type: "observation", data };
}

function readError({ code, message, fault, errors }: JsonObject): ServerMessage {
  const known = typeof code === "string" && Object.hasOwn(FAULT_OF, code) ? (code as WireCode) : "EXECUTION_ERROR";
  const more: Partial<ErrorData> = {};
  if (fault === "client" || fault === "environment" || fault === "infrastructure") more.fault = fault;
  if (Array.isArray(errors)) more.errors = errors as NonNullable<ErrorData["errors"]>;
  return { type: "error", data: errorData(known, String(message), more) };
}

function readOther(type: unknown, data: JsonObject): ServerMessage | undefined {
  return type === "state" || type === "mcp" ? { type, data } : undefined;
}
