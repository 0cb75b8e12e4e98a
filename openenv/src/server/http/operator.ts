import { sendFailure, sendJson } from "./respond.js";
import type { Exchange, Handler } from "./router.js";

/** Answers holders of the operator's token only, under a name of the server; others get 401 with the setting that makes an operator. */
export function forOperators(handler: Handler): Handler {
  return (exchange) => {
    const { request, response, context } = exchange;
    const objection = context.origins.hostObjection(request.headers, true);
    if (objection !== undefined) return sendJson(response, 403, { detail: objection });
    if (context.rights.isOperator(request.headers)) return handler(exchange);
    response.setHeader("www-authenticate", "Bearer");
    sendFailure(exchange, { code: "UNAUTHORIZED", message: describeRefusal(exchange) });
  };
}

function describeRefusal({ context }: Exchange): string {
  return context.rights.hasOperator
    ? "this route is for operators: send the value of OPENENV_OPERATOR_TOKEN as bearer token"
    : "this server has no operator: set OPENENV_OPERATOR_TOKEN where it is started, and send its value as bearer token";
}
