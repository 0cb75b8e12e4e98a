import * as z from "zod";
import type { ValidationIssue } from "../../errors.js";
import { stepRequest } from "../../protocol/bodies.js";
import type { StepBody } from "../../protocol/http.js";
import type { JsonObject, ObservationData, ServerMessage } from "../../protocol/messages.js";
import type { SessionCallOptions } from "../../session/calls/call.js";
import { stepCrashed } from "../../session/failure.js";
import { errorMessage, renderReply, serializeReply } from "../../session/messages/message-codec.js";
import { digestRequest } from "../../session/resume/request-digest.js";
import { dropRetry, retryOverHttp } from "../../session/resume/retry.js";
import type { EnvironmentMessage, Session } from "../../session/session.js";
import { after } from "../../util/async/after.js";
import type { MaybePromise } from "../../util/types.js";
import { checkBody, locateInBody } from "../http/body.js";
import { claimAddress, knownSession, markSession, requireSession, sessionHeaders } from "../http/http-session.js";
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
    if (ctx.address !== undefined) await claimAddress(ctx, "reset");
    const known = ctx.address === undefined ? named : knownSession(ctx);
    if (known !== undefined)
      return send(ctx, known, await callOnce(ctx, known, { message, data: options, ...id.value }));
    if (passToRoom(ctx, text)) return;
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
const repeatable = stepRequest.pick({ request_id: true });

function step(ctx: RequestContext): Promise<void> {
  return withCheckedBody(ctx, compiledStepRequest, (body) => {
    if (ctx.address === undefined) return stepIn(ctx, body);
    return claimAddress(ctx, "call").then(() => stepIn(ctx, body));
  });
}

/** Synchronous if the environment is. */
function stepIn(ctx: RequestContext, { action, timeout_s, request_id }: z.output<typeof stepRequest>) {
  const message = { type: "step", data: action } as const;
  const timeoutMs = timeout_s == null ? undefined : timeout_s * 1000;
  const named = readId(ctx);
  if (named !== undefined) {
    const session = requireSession(ctx, named);
    const reply = callOnce(ctx, session, { message, data: action, request_id, timeoutMs });
    return after(reply, (given) => send(ctx, session, given));
  }
  warnUnnamed(ctx);
  const options = { timeoutMs, requestId: request_id ?? undefined };
  return withEphemeralSession(ctx, async (own) => {
    const begun = await own.call({ type: "reset", data: {} }, options);
    return begun.type === "error" ? begun : own.call(message, options);
  });
}

interface NamedCall {
  message: EnvironmentMessage;
  /** What a repeated request must be equal to. */
  data: JsonObject;
  request_id?: string | null | undefined;
  timeoutMs?: number | undefined;
  orchestrator?: boolean;
  inEpisode?: boolean;
}

/**
 * Calls a session that the request names. With a `request_id` the call is executed once, continues when its client
 * disconnects, and a repeated request gets its answer.
 */
export function callOnce(
  ctx: RequestContext,
  session: Session,
  { message, data, request_id, ...given }: NamedCall,
): MaybePromise<ServerMessage> {
  const { sessions, runtime } = ctx.context;
  const request = { type: message.type, data };
  const resumption = sessions.resumptions.get(session.id);
  // Other requests to a resumable session are numbered, and marked where they begin.
  const journal = resumption?.isAddress ? resumption.journal : undefined;
  const call = (options: SessionCallOptions): MaybePromise<ServerMessage> =>
    after(journal?.enter(request) ?? false, (isCrashed) =>
      isCrashed ? stepCrashed() : session.call(message, { ...given, arrivedAt: ctx.arrivedAt, ...options }),
    );
  if (request_id == null) {
    if (ctx.address?.retry !== true || resumption === undefined) return call(cancelledWith(ctx));
    dropRetry(resumption, request);
    if (message.type !== "step") return call({});
    const perform = async (): Promise<string> => renderReply(await call({}), runtime.maxAnswerBytes);
    const options = { isOpen: () => !ctx.response.closed, call: perform };
    return retryOverHttp(resumption, digestRequest(request), options).then((text) => JSON.parse(text) as ServerMessage);
  }
  const answers = sessions.resumptions.answersOf(session);
  const stored = answers.admitById(request_id, digestRequest(request));
  if (stored !== undefined) {
    if (typeof stored === "object" && "code" in stored) return errorMessage(stored.code, stored.message);
    return after(stored, (text) => JSON.parse(String(text)) as ServerMessage);
  }
  const reply = Promise.resolve(call({ requestId: request_id }));
  answers.store(
    request_id,
    reply.then((value) => renderReply(value, runtime.maxAnswerBytes)),
  );
  return reply;
}

async function state(ctx: RequestContext): Promise<void> {
  if (ctx.address !== undefined) await claimAddress(ctx, "call");
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
  const session = await sessions.openEphemeral();
  const end = (): void => sessions.end(session, "the request has ended");
  if (ctx.response.closed) return end();
  ctx.response.once("close", end);
  send(ctx, null, await use(session));
}

/** A client that disconnects cancels its call, unless it can come back to the address; the session stays open. */
export function cancelledWith({ response, arrivedAt, address }: RequestContext): SessionCallOptions {
  if (address !== undefined) return { arrivedAt };
  return { arrivedAt, onDisconnect: (cancel) => response.once("close", cancel) };
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
