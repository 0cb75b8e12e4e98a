import { errorData } from "../../protocol/messages.js";
import { sendDetail, sendFailure } from "./respond.js";
import type { Handler, RequestContext } from "./router.js";

/** Requires the operator's token and a host name of the server. Others get 401, which names the setting of the token. */
export function forOperators(handler: Handler): Handler {
  return (ctx) => {
    const { request, response, context } = ctx;
    const objection = context.origins.hostRejectionReason(request.headers, true);
    if (objection !== undefined) return sendDetail(response, 403, objection);
    if (context.authorization.isOperator(request.headers)) return handler(ctx);
    response.setHeader("www-authenticate", "Bearer");
    sendFailure(ctx, errorData("UNAUTHORIZED", describeRejection(ctx)));
  };
}

function describeRejection({ context }: RequestContext): string {
  return context.authorization.hasOperator
    ? "this route is for operators: send the value of OPENENV_OPERATOR_TOKEN as bearer token"
    : "this server has no operator: set OPENENV_OPERATOR_TOKEN where it is started, and send its value as bearer token";
}
