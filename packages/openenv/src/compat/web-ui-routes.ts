import { webStepRequest } from "../protocol/bodies.js";
import { parseJson } from "../protocol/codec/json.js";
import type { ClientMessage, JsonObject, ServerMessage } from "../protocol/messages.js";
import type { ServerContext } from "../server/context.js";
import { checkBody } from "../server/http/body.js";
import { knownSession, visitorOf } from "../server/http/http-session.js";
import { passToRoom } from "../server/http/pass-on.js";
import { sendInvalid, sendJson } from "../server/http/respond.js";
import { type RequestContext, type Route, withBody } from "../server/http/router.js";
import { readKey } from "../server/http/session-key.js";
import { cancelledWith, send, withEphemeralSession } from "../server/routes/control.js";
import { renderMetadata } from "../server/routes/metadata.js";
import type { Mount } from "../server/routes/mount.js";
import type { Session } from "../session/session.js";
import { isObject } from "../util/is-object.js";
import { clip } from "../util/text/clip.js";
import type { Checked } from "../validation/parse-input.js";
import { webUiOf } from "./web-ui-session.js";
import { WebUiSockets } from "./web-ui-sockets.js";

/** The web interface of the Python package: its routes, and the WebSocket of its pages. */
export function createWebUi(context: ServerContext): Mount {
  return { routes: ROUTES, sockets: [new WebUiSockets(context)] };
}

/** The routes of the Python package's web interface. A cookie names the session of a visitor. */
const ROUTES: Readonly<Record<string, Route>> = {
  "/web/metadata": { GET: metadata },
  "/web/reset": { POST: reset, key: readKey },
  "/web/step": { POST: step, key: readKey },
  "/web/state": { GET: state, key: readKey },
};

/** Answers as `/metadata` does, with the README that the web interface shows. */
async function metadata({ response, context }: RequestContext): Promise<void> {
  const body = await renderMetadata(context.runtime.definition);
  sendJson(response, 200, { ...body, readme_content: context.web?.readme ?? null });
}

function reset(ctx: RequestContext): Promise<void> {
  return withBody(ctx, (body = {}, text) => play(ctx, text, { type: "reset", data: body }));
}

function step(ctx: RequestContext): Promise<void> {
  return withBody(ctx, async (body = {}, text) => {
    const checked = checkBody(webStepRequest, asAction(body));
    if (!checked.ok) return sendInvalid(ctx, checked.issues);
    const call = readCall(checked.value.action, ctx.context.runtime.maxMessageItems);
    if (!call.ok) return sendInvalid(ctx, call.issues);
    await play(ctx, text, { type: "step", data: call.value });
  });
}

async function state(ctx: RequestContext): Promise<void> {
  const session = knownSession(ctx);
  if (session === undefined) return withEphemeralSession(ctx, (own) => own.call({ type: "state" }));
  send(ctx, session, await session.call({ type: "state" }, cancelledWith(ctx)));
}

type Move = Extract<ClientMessage, { type: "reset" | "step" }>;

/** Calls the visitor's session. The first call that succeeds opens one. */
async function play(ctx: RequestContext, body: string, message: Move): Promise<void> {
  const { sessions } = ctx.context;
  const known = knownSession(ctx);
  if (known === undefined && passToRoom(ctx, body)) return;
  const session = known ?? (await sessions.openNamed(visitorOf(ctx)));
  const reply = await session.call(message, cancelledWith(ctx));
  const isOver = known === undefined && (reply.type === "error" || ctx.response.closed);
  if (isOver) sessions.end(session, "its first request failed");
  else if (known === undefined) sessions.markUnclaimed(session);
  send(ctx, isOver ? null : session, reply, (data) => data);
  record(session, message, reply);
}

function record(session: Session, message: Move, reply: ServerMessage): void {
  if (reply.type !== "observation") return;
  if (message.type === "step") webUiOf(session).step(message.data, reply.data);
  else webUiOf(session).reset(session.progress.episodeId, reply.data);
}

/** Chat pages send only the text of the action. */
function asAction(body: JsonObject): JsonObject {
  if ("action" in body || typeof body["message"] !== "string") return body;
  return { action: { message: body["message"] } };
}

/** A form sends the arguments of a tool as text. */
function readCall(action: JsonObject, maxItems: number): Checked<JsonObject> {
  const { type, arguments: given } = action;
  if (type !== "call_tool" || typeof given !== "string") return { ok: true, value: action };
  const fail = (kind: string, msg: string): Checked<never> => {
    const issue = { type: kind, loc: ["body", "action", "arguments"], msg, input: clip(given, 100) };
    return { ok: false, issues: [issue] };
  };
  try {
    const parsed: unknown = given.trim() === "" ? {} : parseJson(given, maxItems);
    if (isObject(parsed)) return { ok: true, value: { ...action, arguments: parsed } };
    return fail("dict_type", "arguments must be a JSON object");
  } catch (error) {
    return fail("json_invalid", `arguments are not JSON: ${(error as Error).message}`);
  }
}
