import { forkRequest } from "#core/protocol/bodies.js";
import { SESSION_TOKEN_HEADER } from "#core/protocol/http.js";
import { errorData } from "#core/protocol/messages.js";
import { passToWorker } from "#core/server/http/pass-on.js";
import { requesterOf } from "#core/server/http/requester.js";
import { sendJson } from "#core/server/http/respond.js";
import { type RequestContext, type Route, withCheckedBody } from "#core/server/http/router.js";
import type { Session } from "#core/session/session.js";
import { SessionRejectedError } from "#core/session/session-rejected-error.js";
import { clip } from "#core/util/text/clip.js";
import type { Keeper } from "../resume/keeper.js";
import { isTokenOf } from "../session/durable-session.js";

/** `/sessions/{id}/fork`. */
export const FORK_ROUTE: Route = { POST: fork };

/** Copies a session in the process that has it; the copies wait there for sockets that resume them. */
async function fork(ctx: RequestContext): Promise<void> {
  const { response, context, path } = ctx;
  const id = path.split("/")[2] as string;
  if (await passToWorker(ctx, { id })) return;
  await withCheckedBody(ctx, forkRequest, async (wanted) => {
    const session = await allowedSession(ctx, id, "copying");
    sendJson(response, 200, await keeperOf(context).fork(session, wanted));
  });
}

const ACTS = { copying: "copies a session", reading: "reads the events of a session" } as const;

/** @throws SessionRejectedError when the request has neither the session's token nor that of the operator. */
export async function allowedSession(ctx: RequestContext, id: string, doing: keyof typeof ACTS): Promise<Session> {
  const { headers } = ctx.request;
  const { audit, authorization, runtime, sessions } = ctx.context;
  const keeper = keeperOf(ctx.context);
  const isOperator = authorization.isOperator(headers, ctx.principal);
  const token = headers[SESSION_TOKEN_HEADER];
  const isHolder = typeof token === "string" && isTokenOf(keeper.findById(id), token);
  if (isOperator) audit.acts(requesterOf(ctx), ACTS[doing]);
  else if (!isHolder) {
    await audit.refuse(requesterOf(ctx));
    const message = `${doing} a session needs its token in the header ${SESSION_TOKEN_HEADER}, or the operator's as bearer token`;
    throw refuse("UNAUTHORIZED", message);
  }
  // A copy at an earlier event is as good as a reset, and a reset has what the orchestrator gave.
  if (runtime.guarded && !isOperator && !authorization.isOrchestrator(headers)) {
    if (isHolder) await audit.refuse(requesterOf(ctx));
    throw refuse("FORBIDDEN", `in production mode, ${doing} a session is for orchestrators and operators`);
  }
  const session = sessions.byId(id);
  if (session !== undefined) return session;
  const message = keeper.has(id)
    ? "the sessions of a batch socket are copied with fork_many"
    : `No session "${clip(id, 100)}" is open here.`;
  throw refuse("SESSION_ERROR", message);
}

function refuse(code: "UNAUTHORIZED" | "FORBIDDEN" | "SESSION_ERROR", message: string) {
  return new SessionRejectedError(errorData(code, message));
}

/** These routes are mounted with it. */
function keeperOf({ sessions }: RequestContext["context"]): Keeper {
  return sessions.keeper as Keeper;
}
