import { errorData } from "../../protocol/messages.js";
import { requesterOf } from "./requester.js";
import { sendDetail, sendFailure } from "./respond.js";
import type { Handler, RequestContext } from "./router.js";

/**
 * Requires the operator's token and a host name of the server. Others get 401, which names the setting of the token. The
 * log has a line for each `act`, or for the first of an address if programs repeat it: `polls`.
 */
export function forOperators(handler: Handler, act: string, how: "acts" | "polls" = "acts"): Handler {
  return async (ctx) => {
    const { request, response, context } = ctx;
    const objection = context.origins.hostRejectionReason(request.headers, true);
    if (objection !== undefined) return sendDetail(response, 403, objection);
    if (context.authorization.isOperator(request.headers, ctx.principal)) {
      if (!ctx.forwarded) context.audit[how](requesterOf(ctx), act);
      return handler(ctx);
    }
    await context.audit.refuse(requesterOf(ctx));
    response.setHeader("www-authenticate", "Bearer");
    sendFailure(ctx, errorData("UNAUTHORIZED", describeRejection(ctx)));
  };
}

function describeRejection({ context }: RequestContext): string {
  return context.authorization.hasOperator
    ? "this route is for operators: send the value of OPENENV_OPERATOR_TOKEN as bearer token"
    : "this server has no operator: set OPENENV_OPERATOR_TOKEN where it is started, and send its value as bearer token";
}
