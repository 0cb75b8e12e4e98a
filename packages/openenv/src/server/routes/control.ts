import * as z from "zod";
import type { ValidationIssue } from "../../errors.js";
import { stepRequest } from "../../protocol/bodies.js";
import type { StepBody } from "../../protocol/http.js";
import type { ObservationData, ServerMessage } from "../../protocol/messages.js";
import type { AddressPeer, SessionCallOptions } from "../../session/calls/call.js";
import type { EnvironmentMessage } from "../../session/calls/peer-request.js";
import { serializeReply } from "../../session/messages/message-codec.js";
import { withoutKeeper } from "../../session/registry/session-keeper.js";
import type { Session } from "../../session/session.js";
import { after } from "../../util/async/after.js";
import type { MaybePromise } from "../../util/types.js";
import { checkBody, locateInBody } from "../http/body.js";
import {
  attachAddress,
  headerTrace,
  knownSession,
  markSession,
  requireSession,
  sessionHeaders,
  visitorOf,
} from "../http/http-session.js";
import { passToRoom } from "../http/pass-on.js";
import { sendFailure, sendInvalid, sendText } from "../http/respond.js";
import { type RequestContext, type Route, withBody, withCheckedBody } from "../http/router.js";
import { readId, readKey } from "../http/session-key.js";
import { warnUnnamed } from "../http/unnamed.js";

/** `/reset`, `/step` and `/state`: stateful if a session is named, else each request has its own environment. */
export const CONTROL_ROUTES: Record<string, Route> = {
  "/reset": { POST: reset, key: readKey },
  "/step": { POST: step, key: readKey },
  "/state": { GET: state, key: readKey },
};

function reset(ctx: RequestContext): Promise<void> {
  return withBody(ctx, async (body = {}, text) => {
    const { sessions, runtime } = ctx.context;
    // A wrong request is rejected before another session is ended to make room.
    const named = knownSession(ctx);
    const invalid = (issues: ValidationIssue[]): void => {
      if (named !== undefined) markSession(ctx, named);
      sendInvalid(ctx, issues, named);
    };
    // A contract may declare a reset option of this name.
    const isOurs = !("request_id" in runtime.definition.contract.reset.shape);
    const isNamed = named !== undefined || ctx.address !== undefined;
    const { request_id: _, ...rest } = body;
    const options = isOurs ? rest : body;
    const id = checkBody(repeatable, isOurs && isNamed ? body : {});
    if (!id.ok) return invalid(id.issues);
    const checked = runtime.validator.reset(options);
    if (!checked.ok) return invalid(locateInBody(checked.issues));
    const message = { type: "reset", data: options, input: checked.value } as const;
    if (ctx.address !== undefined) await attachAddress(ctx, "reset");
    const known = ctx.address === undefined ? named : knownSession(ctx);
    if (known !== undefined) return send(ctx, known, await callNamed(ctx, known, message, id.value));
    if (passToRoom(ctx, text)) return;
    const session = await sessions.openIfRoom(visitorOf(ctx));
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
const repeatable = stepRequest.pick({ request_id: true });

function step(ctx: RequestContext): Promise<void> {
  return withCheckedBody(ctx, compiledStepRequest, (body) => {
    if (ctx.address === undefined) return stepIn(ctx, body);
    return attachAddress(ctx, "call").then(() => stepIn(ctx, body));
  });
}

/** Synchronous if the environment is. */
function stepIn(ctx: RequestContext, { action, timeout_s, request_id }: z.output<typeof stepRequest>) {
  const message = { type: "step", data: action } as const;
  const timeoutMs = timeout_s == null ? undefined : timeout_s * 1000;
  const named = readId(ctx);
  if (named !== undefined) {
    const session = requireSession(ctx, named);
    const reply = callNamed(ctx, session, message, { request_id, timeoutMs });
    return after(reply, (given) => send(ctx, session, given));
  }
  warnUnnamed(ctx);
  const options = { timeoutMs, requestId: request_id ?? undefined };
  return withEphemeralSession(ctx, async (own) => {
    const begun = await own.call({ type: "reset", data: {} }, options);
    return begun.type === "error" ? begun : own.call(message, options);
  });
}

interface CallOnce {
  request_id?: string | null | undefined;
  timeoutMs?: number | undefined;
}

/**
 * Calls a session that the request names. With a `request_id` the call is executed once, continues when its client
 * disconnects, and a repeated request gets its answer.
 */
function callNamed(
  ctx: RequestContext,
  session: Session,
  message: EnvironmentMessage,
  { request_id, timeoutMs }: CallOnce,
): MaybePromise<ServerMessage> {
  if (request_id == null) return session.call(message, cancelledWith(ctx, timeoutMs));
  const { keeper } = ctx.context.sessions;
  if (keeper === undefined) throw withoutKeeper("a request_id");
  keeper.remember(session);
  return session.call(message, {
    arrivedAt: ctx.arrivedAt,
    traceparent: headerTrace(ctx.request),
    timeoutMs,
    requestId: request_id,
  });
}

async function state(ctx: RequestContext): Promise<void> {
  if (ctx.address !== undefined) await attachAddress(ctx, "call");
  const named = readId(ctx);
  if (named === undefined) {
    warnUnnamed(ctx);
    return withEphemeralSession(ctx, (own) => own.call({ type: "state" }));
  }
  const session = requireSession(ctx, named);
  send(ctx, session, await session.call({ type: "state" }, cancelledWith(ctx)));
}

/** Uses an environment for this request only. It ends with the answer, or when the client disconnects. */
export async function withEphemeralSession(
  ctx: RequestContext,
  use: (session: Session) => MaybePromise<ServerMessage>,
): Promise<void> {
  const { sessions } = ctx.context;
  const session = await sessions.openEphemeral(visitorOf(ctx));
  const end = (): void => sessions.end(session, "the request has ended");
  if (ctx.response.closed) return end();
  ctx.response.once("close", end);
  send(ctx, null, await use(session));
}

/** A client that disconnects cancels its call, unless it can come back to the address; the session stays open. */
export function cancelledWith(
  { request, response, arrivedAt, address }: RequestContext,
  timeoutMs?: number,
): SessionCallOptions {
  const traceparent = headerTrace(request);
  if (address !== undefined)
    return { arrivedAt, traceparent, timeoutMs, peer: new HttpPeer(response, address.retry === true) };
  return { arrivedAt, traceparent, timeoutMs, onDisconnect: (cancel) => response.once("close", cancel) };
}

/** A client of an address, which may send several requests at once. */
class HttpPeer implements AddressPeer {
  readonly isSerial = false;
  readonly answered = false;
  readonly retries: boolean;
  readonly #response: RequestContext["response"];

  constructor(response: RequestContext["response"], retries: boolean) {
    this.#response = response;
    this.retries = retries;
  }

  get ended(): boolean {
    return this.#response.closed;
  }
}

export function send(
  ctx: RequestContext,
  session: Session | null,
  reply: ServerMessage,
  toBody: (data: ObservationData) => object = httpObservation,
): void {
  const { response, context } = ctx;
  if (reply.type === "error") {
    markSession(ctx, session);
    const { errors } = reply.data;
    if (errors === undefined) return sendFailure(ctx, reply.data, { session: session ?? undefined });
    const detail = errors.map((issue) => ({ ...issue, loc: bodyPath(ctx, issue.loc) }));
    return sendInvalid(ctx, detail, session ?? undefined);
  }
  const body = reply.type === "observation" ? toBody(reply.data) : reply.data;
  let text: string;
  try {
    text = serializeReply(body, context.runtime.maxAnswerBytes);
  } catch (error) {
    if (reply.type === "observation") session?.dropEpisode();
    // The answer that reports the failure names the session, too.
    markSession(ctx, session);
    throw error;
  }
  sendText(response, 200, { type: "application/json", text, headers: sessionHeaders(ctx, session) });
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
