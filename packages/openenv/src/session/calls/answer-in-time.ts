import type { ServerMessage } from "../../protocol/messages.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import { rejectRequest } from "../failure.js";
import type { ImageMessage } from "../restore/image.js";
import type { Call } from "./call.js";

export type Answer = ServerMessage | ToolOutcome | ImageMessage;

/** The answer of an asynchronous call, or that its time limit has passed. Cancels the call when the client disconnects. */
export function answerInTime(answer: Promise<Answer>, call: Call): Promise<Answer> {
  const { onDisconnect, event } = call.options;
  onDisconnect?.(() => call.abort(new Error("the client disconnected")));
  const inTime = call.inTime(answer, (message) => rejectRequest(call.type, "TIMEOUT", message));
  return event === true ? inTime.then((value) => withEvent(value, call)) : inTime;
}

/** Adds the number of the event, if the request was one and the peer requested it. */
export function withEvent(answer: Answer, { event, options }: Call): Answer {
  return options.event === true && event > 0 ? Object.assign(answer, { event }) : answer;
}
