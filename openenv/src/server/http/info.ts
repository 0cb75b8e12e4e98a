import { timingSafeEqual } from "node:crypto";
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

function sessions(exchange: Exchange): void {
  const { response, context } = exchange;
  if (!isOperator(exchange)) {
    response.setHeader("www-authenticate", "Bearer");
    const detail =
      "for operators: send OPENENV_OPERATOR_TOKEN as bearer token, or ask on this machine without a proxy in between";
    return sendJson(response, 401, { detail });
  }
  const body: SessionsBody = { capacity: context.sessions.capacity(), sessions: context.sessions.list() };
  sendJson(response, 200, body);
}

const FORWARDING = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/** The token's holder; without a token set, a caller on this machine that no proxy speaks for. */
function isOperator({ request, context }: Exchange): boolean {
  const { authorization = "", host = "" } = request.headers;
  if (context.operatorToken !== undefined && sameText(authorization, `Bearer ${context.operatorToken}`)) return true;
  if (FORWARDING.some((name) => request.headers[name] !== undefined)) return false;
  return isLoopback(request.socket.remoteAddress ?? "") && isLoopback(hostName(host));
}

/** Takes as long for a near miss as for a far one. */
function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
