import type { EventsBody } from "#core/protocol/http.js";
import { passToWorker } from "#core/server/http/pass-on.js";
import { sendJson } from "#core/server/http/respond.js";
import type { RequestContext, Route } from "#core/server/http/router.js";
import { refuse } from "#core/session/restore/image.js";
import type { Session } from "#core/session/session.js";
import { allowedSession } from "./fork.js";

/** `/sessions/{id}/events`. */
export const EVENTS_ROUTE: Route = { GET: read };

/** The events of the episode, which a session keeps up to a limit. What came from outside is for operators only. */
async function read(ctx: RequestContext): Promise<void> {
  const { request, response, context, path } = ctx;
  const id = path.split("/")[2] as string;
  if (await passToWorker(ctx, { id }, "")) return;
  const session = await allowedSession(ctx, id, "reading");
  const events = keptEvents(session);
  if (context.authorization.isOperator(request.headers, ctx.principal))
    return sendJson(response, 200, { events } satisfies EventsBody);
  const own = events.map(({ recorded: { seed }, ...event }) =>
    event.type !== "reset" || seed === undefined
      ? event
      : { ...event, request: { ...event.request, seed: event.request["seed"] ?? seed } },
  );
  sendJson(response, 200, { events: own } satisfies EventsBody);
}

/** @throws SessionRejectedError (EVENT_NOT_KEPT) */
function keptEvents({ events: { kept, tier } }: Session) {
  if (typeof kept !== "string") return kept;
  const reasons = {
    snapshot: "its environment has snapshots",
    replay: kept,
    none: "reason" in tier ? tier.reason : kept,
  };
  throw refuse("EVENT_NOT_KEPT", `the session has no events to read: ${reasons[tier.tier]}`);
}
