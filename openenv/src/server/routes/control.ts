import type { JsonObject, ObservationData, ServerMessage } from "../../protocol/messages.js";
import type { CallOptions } from "../../session/calls/call.js";
import type { Session } from "../../session/session.js";
import { readBody } from "../http/body.js";
import { BodyFields } from "../http/fields.js";
import { findSession, knownSession, markSession, namedSession } from "../http/http-session.js";
import { sendFailure, sendInvalid, sendJson } from "../http/respond.js";
import { type Exchange, type Handler, type Route, withBody } from "../http/router.js";

/** `/reset`, `/step` and `/state`: stateful when a session is named, else each with an environment of its own. */
export const CONTROL_ROUTES: Record<string, Route> = {
  "/reset": { POST: atOwner(reset) },
  "/step": { POST: atOwner(step) },
  "/state": { GET: atOwner(state) },
};

function reset(exchange: Exchange): Promise<void> {
  return withBody(exchange, async (body = {}, text) => {
    const { sessions, runtime } = exchange.context;
    const known = knownSession(exchange);
    // What is wrong with the request is reported before another session is ended to make room.
    const checked = runtime.validator.reset(body);
    if (!checked.ok) {
      if (known !== undefined) markSession(exchange, known);
      const issues = checked.issues.map((issue) => ({ ...issue, loc: ["body", ...issue.loc] }));
      return sendInvalid(exchange, issues, known);
    }
    const message = { type: "reset", input: checked.value } as const;
    if (known !== undefined) return send(exchange, known, await known.call(message, cancelledWith(exchange)));
    if (forwardToRoom(exchange, text)) return;
    const session = await sessions.openIfRoom();
    if (session === null) {
      return withThrowaway(exchange, (own) => {
        runtime.statistics.countRefusal("http_reset");
        return own.call(message);
      });
    }
    const reply = await session.call(message, cancelledWith(exchange));
    if (reply.type === "error" || exchange.response.closed) sessions.end(session, "its first reset failed");
    else sessions.markUnclaimed(session);
    send(exchange, reply.type === "error" ? null : session, reply);
  });
}

function step(exchange: Exchange): Promise<void> {
  return withBody(exchange, async (body) => {
    if (body === undefined) {
      return sendInvalid(exchange, [{ type: "missing", loc: ["body"], msg: "Field required", input: null }]);
    }
    const fields = new BodyFields(body);
    const message = { type: "step", data: fields.object("action") } as const;
    const timeout = fields.optionalPositive("timeout_s");
    const timeoutMs = timeout === undefined ? undefined : timeout * 1000;
    const options = { timeoutMs, requestId: fields.optionalString("request_id", 255) };
    if (fields.issues.length > 0) return sendInvalid(exchange, fields.issues);
    const named = namedSession(exchange);
    if (named !== undefined) {
      const session = findSession(exchange, named);
      return send(exchange, session, await session.call(message, { ...options, ...cancelledWith(exchange) }));
    }
    await withThrowaway(exchange, async (own) => {
      const begun = await own.call({ type: "reset", data: {} }, options);
      return begun.type === "error" ? begun : own.call(message, options);
    });
  });
}

async function state(exchange: Exchange): Promise<void> {
  const named = namedSession(exchange);
  if (named === undefined) return withThrowaway(exchange, (own) => own.call({ type: "state" }));
  const session = findSession(exchange, named);
  send(exchange, session, await session.call({ type: "state" }, cancelledWith(exchange)));
}

type MaybePromise<T> = T | Promise<T>;

/** Uses an environment for this request alone; it ends with the answer, or when the client leaves before. */
export async function withThrowaway(
  exchange: Exchange,
  use: (session: Session) => MaybePromise<ServerMessage>,
): Promise<void> {
  const { sessions } = exchange.context;
  const session = await sessions.openThrowaway();
  const end = (): void => sessions.end(session, "the request has ended");
  if (exchange.response.closed) return end();
  exchange.response.once("close", end);
  send(exchange, null, await use(session));
}

/** A client that leaves cancels its call; the session stays. */
export function cancelledWith({ response, arrivedAt }: Exchange): CallOptions {
  return { arrivedAt, whenGone: (cancel) => response.once("close", cancel) };
}

export function send(
  exchange: Exchange,
  session: Session | null,
  reply: ServerMessage,
  toBody: (data: ObservationData) => object = httpObservation,
): void {
  const { response, context } = exchange;
  markSession(exchange, session);
  if (reply.type === "error") {
    const { errors } = reply.data;
    if (errors === undefined) return sendFailure(exchange, reply.data, session ?? undefined);
    const detail = errors.map((issue) => ({ ...issue, loc: bodyPath(exchange, issue.loc) }));
    return sendInvalid(exchange, detail, session ?? undefined);
  }
  const body = reply.type === "observation" ? toBody(reply.data) : reply.data;
  sendJson(response, 200, body, context.runtime.maxAnswerBytes);
}

/** Paths lead from the body on: `["body", "action", "amount"]`; a session names the data of a reset `data`. */
function bodyPath({ path }: Exchange, loc: (string | number)[]): (string | number)[] {
  return path.endsWith("/step") ? ["body", "action", ...loc] : ["body", ...loc.slice(1)];
}

/** Over HTTP the four keys are always there, and the reward is a number or null. */
function httpObservation({ observation, reward, done, metadata }: ObservationData): JsonObject {
  return {
    observation,
    reward: typeof reward === "boolean" ? Number(reward) : reward,
    done,
    metadata: metadata ?? null,
  };
}

/** A session lives where it was opened: a request that names another server's is answered there. */
export function atOwner(handler: Handler): Handler {
  return async (exchange) => {
    const { request, response, context } = exchange;
    const named = context.fleet && namedSession(exchange);
    const owner = named && context.fleet?.ownerOf(named.id);
    if (owner === undefined) return handler(exchange);
    const body = await readBody(exchange);
    context.fleet?.forward(owner, { request, response, body: body.toString(), named: true });
  };
}

/** True when another server of the fleet, which has room for a session, answers instead; `body` is what the client sent. */
export function forwardToRoom({ request, response, context, forwarded }: Exchange, body: string): boolean {
  const roomier = forwarded ? undefined : context.fleet?.withRoom();
  if (roomier === undefined) return false;
  context.fleet?.forward(roomier, { request, response, body, named: false });
  return true;
}
