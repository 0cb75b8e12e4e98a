import { errorData } from "../../protocol/messages.js";
import { requesterOf } from "./requester.js";
import { sendDetail, sendFailure } from "./respond.js";
import type { Handler, RequestContext } from "./router.js";

/**
 * Requires the operator's token and a host name of the server. Others get 401, which names the setting of the token. The
 * log has a line for each `act`, or for the first of an address if programs repeat it: `polls`.
 */
export function forOperators(handler: Handler, act: string, how: "acts" | "polls" = "acts"): Handler {
  return guard(describeRejection, (ctx) => {
    const { request, context } = ctx;
    if (!context.authorization.isOperator(request.headers, ctx.principal)) return undefined;
    if (!ctx.forwarded) context.audit[how](requesterOf(ctx), act);
    return handler;
  });
}

/** Requires the right to read rollouts, and a host name of the server. A server without any token on loopback grants it to all clients. */
export function forViewers(handler: Handler): Handler {
  return guard(
    () => "this route is for viewers: send the value of OPENENV_VIEWER_TOKEN or OPENENV_OPERATOR_TOKEN as bearer token",
    ({ request, context: { authorization, plugins }, principal }) =>
      authorization.isViewer(request.headers, principal, plugins.authorize === undefined) ? handler : undefined,
  );
}

function guard(
  describe: (ctx: RequestContext) => string,
  permit: (ctx: RequestContext) => Handler | undefined,
): Handler {
  return async (ctx) => {
    const { request, response, context } = ctx;
    const objection = context.origins.hostRejectionReason(request.headers, true);
    if (objection !== undefined) return sendDetail(response, 403, objection);
    const permitted = permit(ctx);
    if (permitted !== undefined) return permitted(ctx);
    await context.audit.refuse(requesterOf(ctx));
    response.setHeader("www-authenticate", "Bearer");
    sendFailure(ctx, errorData("UNAUTHORIZED", describe(ctx)));
  };
}

function describeRejection({ context }: RequestContext): string {
  return context.authorization.hasOperator
    ? "this route is for operators: send the value of OPENENV_OPERATOR_TOKEN as bearer token"
    : "this server has no operator: set OPENENV_OPERATOR_TOKEN where it is started, and send its value as bearer token";
}
