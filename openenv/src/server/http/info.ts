import type { HealthBody, SessionsBody } from "../../protocol/http.js";
import { renderMetadata } from "../metadata.js";
import { hostName, isLoopback } from "../origins.js";
import { sendJson } from "./respond.js";
import type { Exchange, Route } from "./router.js";

/** What a server tells about itself. */
export const INFO_ROUTES: Record<string, Route> = {
  "/health": { GET: health },
  "/metadata": { GET: metadata },
  "/schema": { GET: schema },
  "/sessions": { GET: sessions },
};

function health({ response, context }: Exchange): void {
  const body: HealthBody = { status: context.draining ? "unhealthy" : "healthy" };
  sendJson(response, context.draining ? 503 : 200, body);
}

async function metadata({ response, context }: Exchange): Promise<void> {
  sendJson(response, 200, await renderMetadata(context.runtime.definition));
}

function schema({ response, context }: Exchange): void {
  sendJson(response, 200, context.runtime.definition.contract.schemas());
}

async function sessions(exchange: Exchange): Promise<void> {
  const { response, context } = exchange;
  if (!isOperator(exchange)) {
    response.setHeader("www-authenticate", "Bearer");
    const detail =
      "for operators: send OPENENV_OPERATOR_TOKEN as bearer token; a server without one answers on this machine only, " +
      "without a proxy in between";
    return sendJson(response, 401, { detail });
  }
  const list = context.fleet?.sessions() ?? context.sessions.list();
  const body: SessionsBody = { capacity: context.sessions.capacity(), sessions: await list };
  sendJson(response, 200, body);
}

const FORWARDING = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/** The token's holder; when none is set, a caller on this machine that neither a proxy nor a foreign page speaks for. */
function isOperator({ request, context }: Exchange): boolean {
  const { host = "" } = request.headers;
  if (context.rights.hasOperator) return context.rights.isOperator(request.headers);
  if (!context.origins.isOwn(request.headers)) return false;
  if (FORWARDING.some((name) => request.headers[name] !== undefined)) return false;
  return isLoopback(request.socket.remoteAddress ?? "") && isLoopback(hostName(host));
}
