import * as z from "zod";
import { stepRequest } from "../../protocol/bodies.js";
import type { StepBody } from "../../protocol/http.js";
import type { ObservationData, ServerMessage } from "../../protocol/messages.js";
import type { SessionCallOptions } from "../../session/calls/call.js";
import type { Session } from "../../session/session.js";
import type { MaybePromise } from "../../util/types.js";
import { locateInBody, readBody } from "../http/body.js";
import { findSession, knownSession, markSession, namedSession } from "../http/http-session.js";
import { sendFailure, sendInvalid, sendJson } from "../http/respond.js";
import { type Handler, type RequestContext, type Route, withBody, withCheckedBody } from "../http/router.js";

/** `/reset`, `/step` and `/state`: stateful if a session is named, else each request has its own environment. */
export const CONTROL_ROUTES: Record<string, Route> = {
  "/reset": { POST: atOwner(reset) },
  "/step": { POST: atOwner(step) },
  "/state": { GET: atOwner(state) },
};

function reset(ctx: RequestContext): Promise<void> {
  return withBody(ctx, async (body = {}, text) => {
    const { sessions, runtime } = ctx.context;
    const known = knownSession(ctx);
    // A wrong request is rejected before another session is ended to make room.
    const checked = runtime.validator.reset(body);
    if (!checked.ok) {
      if (known !== undefined) markSession(ctx, known);
      return sendInvalid(ctx, locateInBody(checked.issues), known);
    }
    const message = { type: "reset", input: checked.value } as const;
    if (known !== undefined) return send(ctx, known, await known.call(message, cancelledWith(ctx)));
    if (forwardToRoom(ctx, text)) return;
    const session = await sessions.openIfRoom();
    if (session === null) {
      return withEphemeralSession(ctx, (own) => {
        runtime.statistics.countRejection("http_reset");
        return own.call(message);
      });
    }
    const reply = await session.call(message, cancelledWith(ctx));
    if (reply.type === "error" || ctx.response.closed) sessions.end(session, "its first reset failed");
    else sessions.markUnclaimed(session);
    send(ctx, reply.type === "error" ? null : session, reply);
  });
}

/** Checks in 20 ns instead of 1,200. The other bodies are rare. */
const compiledStepRequest = z.compile(stepRequest);

function step(ctx: RequestContext): Promise<void> {
  return withCheckedBody(ctx, compiledStepRequest, async ({ action, timeout_s, request_id }) => {
    const message = { type: "step", data: action } as const;
    const timeoutMs = timeout_s == null ? undefined : timeout_s * 1000;
    const options = { timeoutMs, requestId: request_id ?? undefined };
    const named = namedSession(ctx);
    if (named !== undefined) {
      const session = findSession(ctx, named);
      return send(ctx, session, await session.call(message, { ...options, ...cancelledWith(ctx) }));
    }
    await withEphemeralSession(ctx, async (own) => {
      const begun = await own.call({ type: "reset", data: {} }, options);
      return begun.type === "error" ? begun : own.call(message, options);
    });
  });
}

async function state(ctx: RequestContext): Promise<void> {
  const named = namedSession(ctx);
  if (named === undefined) return withEphemeralSession(ctx, (own) => own.call({ type: "state" }));
  const session = findSession(ctx, named);
  send(ctx, session, await session.call({ type: "state" }, cancelledWith(ctx)));
}

/** Uses an environment for this request only. It ends with the answer, or when the client disconnects. */
export async function withEphemeralSession(
  ctx: RequestContext,
  use: (session: Session) => MaybePromise<ServerMessage>,
): Promise<void> {
  const { sessions } = ctx.context;
  const session = await sessions.openEphemeral();
  const end = (): void => sessions.end(session, "the request has ended");
  if (ctx.response.closed) return end();
  ctx.response.once("close", end);
  send(ctx, null, await use(session));
}

/** A client that disconnects cancels its call; the session stays open. */
export function cancelledWith({ response, arrivedAt }: RequestContext): SessionCallOptions {
  return { arrivedAt, onDisconnect: (cancel) => response.once("close", cancel) };
}

export function send(
  ctx: RequestContext,
  session: Session | null,
  reply: ServerMessage,
  toBody: (data: ObservationData) => object = httpObservation,
): void {
  const { response, context } = ctx;
  markSession(ctx, session);
  if (reply.type === "error") {
    const { errors } = reply.data;
    if (errors === undefined) return sendFailure(ctx, reply.data, session ?? undefined);
    const detail = errors.map((issue) => ({ ...issue, loc: bodyPath(ctx, issue.loc) }));
    return sendInvalid(ctx, detail, session ?? undefined);
  }
  const body = reply.type === "observation" ? toBody(reply.data) : reply.data;
  sendJson(response, 200, body, context.runtime.maxAnswerBytes);
}

/** Paths start at the body: `["body", "action", "amount"]`. A session calls the data of a reset `data`. */
function bodyPath({ path }: RequestContext, loc: (string | number)[]): (string | number)[] {
  return path.endsWith("/step") ? ["body", "action", ...loc] : ["body", ...loc.slice(1)];
}

/** Over HTTP the four keys are always present, and the reward is a number or null. */
function httpObservation({ observation, reward, done, metadata }: ObservationData): StepBody {
  return {
    observation,
    reward: typeof reward === "boolean" ? Number(reward) : reward,
    done,
    metadata: metadata ?? null,
  };
}

/** A session stays in the worker that opened it, so a request that names the session is forwarded there. */
export function atOwner(handler: Handler): Handler {
  return async (ctx) => {
    const { request, response, context } = ctx;
    const named = context.cluster && namedSession(ctx);
    const owner = named && context.cluster?.ownerOf(named.id);
    if (owner === undefined) return handler(ctx);
    const body = await readBody(ctx);
    context.cluster?.forward(owner, { request, response, body: body.toString(), named: true });
  };
}

/** True if another worker of the cluster has more room and answers instead. `body` is the text of the request. */
export function forwardToRoom({ request, response, context, forwarded }: RequestContext, body: string): boolean {
  const roomier = forwarded ? undefined : context.cluster?.withRoom();
  if (roomier === undefined) return false;
  context.cluster?.forward(roomier, { request, response, body, named: false });
  return true;
}
