import { parseJson } from "../../../protocol/json.js";
import type { ClientMessage, JsonObject, ServerMessage } from "../../../protocol/messages.js";
import { isObject } from "../../../util/is-object.js";
import { dispatch } from "../../dispatch.js";
import type { Session } from "../../session.js";
import { atOwner, forwardToRoom, givenUpWith, refusable, send, withThrowaway } from "../control.js";
import { BodyFields } from "../fields.js";
import { knownSession } from "../http-session.js";
import { sendInvalid } from "../respond.js";
import { type Exchange, withBody } from "../router.js";
import { Visit } from "./visit.js";

export const reset = atOwner(refusable(begin));
export const step = atOwner(refusable(act));
export const state = atOwner(refusable(tellState));

/** What the session's pages see; made when it is first asked for. */
export function visitOf(session: Session): Visit {
  session.visit ??= new Visit();
  return session.visit;
}

function begin(exchange: Exchange): Promise<void> {
  return withBody(exchange, (body = {}, text) => play(exchange, text, { type: "reset", data: body }));
}

function act(exchange: Exchange): Promise<void> {
  return withBody(exchange, async (body = {}, text) => {
    const fields = new BodyFields(asAction(body));
    const { maxMessageItems } = exchange.context.runtime;
    const action = readCall(fields.object("action"), fields, maxMessageItems);
    if (fields.issues.length > 0) return sendInvalid(exchange, fields.issues);
    await play(exchange, text, { type: "step", data: action });
  });
}

async function tellState(exchange: Exchange): Promise<void> {
  const session = knownSession(exchange);
  if (session === undefined) return withThrowaway(exchange, (own) => dispatch(own, { type: "state" }, {}));
  send(exchange, session, await dispatch(session, { type: "state" }, givenUpWith(exchange)));
}

type Move = Extract<ClientMessage, { type: "reset" | "step" }>;

/** In the visitor's session; one who has none gets one with the first answer that is no failure. */
async function play(exchange: Exchange, body: string, message: Move): Promise<void> {
  const { sessions } = exchange.context;
  const known = knownSession(exchange);
  if (known === undefined && forwardToRoom(exchange, body)) return;
  const session = known ?? (await sessions.openNamed());
  const reply = await dispatch(session, message, givenUpWith(exchange));
  const isOver = known === undefined && (reply.type === "error" || exchange.response.closed);
  if (isOver) sessions.end(session, "its first request failed");
  else if (known === undefined) sessions.markUnclaimed(session);
  send(exchange, isOver ? null : session, reply);
  note(session, message, reply);
}

function note(session: Session, message: Move, reply: ServerMessage): void {
  if (reply.type !== "observation") return;
  if (message.type === "step") visitOf(session).stepped(message.data, reply.data);
  else visitOf(session).began(session.episodeId, reply.data);
}

/** Chat pages send the text of the action alone. */
function asAction(body: JsonObject): JsonObject {
  if ("action" in body || typeof body["message"] !== "string") return body;
  return { action: { message: body["message"] } };
}

/** The arguments of a tool may be the text of a form's field. */
function readCall(action: JsonObject, { issues }: BodyFields, maxItems: number): JsonObject {
  const { type, arguments: given } = action;
  if (type !== "call_tool" || typeof given !== "string") return action;
  const loc = ["body", "action", "arguments"];
  try {
    const parsed: unknown = given.trim() === "" ? {} : parseJson(given, maxItems);
    if (isObject(parsed)) return { ...action, arguments: parsed };
    issues.push({ type: "dict_type", loc, msg: "arguments must be a JSON object", input: given.slice(0, 100) });
  } catch (error) {
    const msg = `arguments are not JSON: ${(error as Error).message}`;
    issues.push({ type: "json_invalid", loc, msg, input: given.slice(0, 100) });
  }
  return action;
}
