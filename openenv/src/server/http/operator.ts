import { hostName, isLoopback } from "../origins.js";
import { sendJson } from "./respond.js";
import type { Exchange, Handler } from "./router.js";

/** Answers operators only; anybody else is told how to become one. */
export function forOperators(handler: Handler): Handler {
  return (exchange) => {
    if (isOperator(exchange)) return handler(exchange);
    const { response } = exchange;
    response.setHeader("www-authenticate", "Bearer");
    const detail =
      "for operators: send OPENENV_OPERATOR_TOKEN as bearer token; a server without one answers on this machine only, " +
      "without a proxy in between";
    sendJson(response, 401, { detail });
  };
}

const FORWARDING = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/** The token's holder; when none is set, a caller on this machine that neither a proxy nor a foreign page speaks for. */
export function isOperator({ request, context }: Exchange): boolean {
  const { host = "" } = request.headers;
  if (context.rights.hasOperator) return context.rights.isOperator(request.headers);
  if (!context.origins.isOwn(request.headers)) return false;
  if (FORWARDING.some((name) => request.headers[name] !== undefined)) return false;
  return isLoopback(request.socket.remoteAddress ?? "") && isLoopback(hostName(host));
}
