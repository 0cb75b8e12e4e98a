import type { PausedBody, SessionEndedBody, SessionsBody } from "../../protocol/http.js";
import { errorData } from "../../protocol/messages.js";
import { listInfo } from "../../session/session-info.js";
import { clip } from "../../util/text/clip.js";
import { forOperators } from "../http/operator.js";
import { passToWorker } from "../http/pass-on.js";
import { sendFailure, sendJson } from "../http/respond.js";
import type { Handler, RequestContext, Route } from "../http/router.js";

/** Routes by which operators list, end and pause sessions. */
export const SESSION_ROUTES: Record<string, Route> = {
  "/sessions": { GET: forOperators(list, "lists the sessions") },
  "/sessions/pause": { POST: forOperators(pause(true), "pauses the server") },
  "/sessions/resume": { POST: forOperators(pause(false), "resumes the server") },
};

/** `/sessions/{id}`. */
export const SESSION_ROUTE: Route = { DELETE: forOperators(end, "ends a session") };

async function list({ response, context }: RequestContext): Promise<void> {
  const sessions = await (context.cluster?.sessions() ?? listInfo(context.sessions.all));
  const body: SessionsBody = { capacity: context.sessions.capacity(), sessions };
  sendJson(response, 200, body);
}

/** Ends any session, regardless of its client and its state. */
async function end(ctx: RequestContext): Promise<void> {
  const { response, context, path } = ctx;
  const id = path.slice("/sessions/".length);
  if (await passToWorker(ctx, { id }, "")) return;
  const session = context.sessions.byId(id);
  if (session === undefined) {
    return sendFailure(ctx, errorData("SESSION_ERROR", `No session "${clip(id, 100)}" is open here.`));
  }
  context.sessions.end(session, "ended by an operator");
  sendJson(response, 200, { session_id: id, closed: true } satisfies SessionEndedBody);
}

/** Applies to all workers, because one address has one health. */
function pause(paused: boolean): Handler {
  return async ({ response, context }) => {
    if (context.cluster === undefined) context.sessions.pause(paused);
    else await context.cluster.pause(paused);
    const body: PausedBody = { paused };
    sendJson(response, 200, body);
  };
}
