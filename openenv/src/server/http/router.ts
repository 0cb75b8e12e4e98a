import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerContext } from "../context.js";
import { BodyTooLargeError, parseBody, readBody } from "./body.js";
import { sendFailure, sendInvalid, sendJson, sendStatus } from "./respond.js";

/** One request with what its handler needs. `body` is undefined when none was sent. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  context: ServerContext;
  path: string;
}

export type Handler = (exchange: Exchange) => void | Promise<void>;

/** Methods of one path. */
export type Route = { GET?: Handler; POST?: Handler };

/** Finds the route of a path; undefined for none. */
export type Lookup = (path: string) => Route | undefined;

/** Answers every request: 404, 405, redirects of a trailing slash, origins, failures and the handlers of `lookup`. */
export function createRouter(context: ServerContext, lookup: Lookup) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const url = request.url ?? "/";
    const mark = url.indexOf("?");
    const path = mark < 0 ? url : url.slice(0, mark);
    context.requests++;
    response.once("close", () => context.requests--);
    void answer({ request, response, context, path }, lookup).catch((error: unknown) => fail(context, response, error));
  };
}

async function answer(exchange: Exchange, lookup: Lookup): Promise<void> {
  const { request, response, context, path } = exchange;
  const method = request.method ?? "GET";
  // Reading is no danger from a foreign page, which cannot see the answer; a foreign Host is one.
  const { host, origin } = request.headers;
  const objection = context.origins.objection(method === "GET" ? { host } : { host, origin });
  if (objection !== undefined) return sendJson(response, 403, { detail: objection });
  const route = lookup(path);
  if (route === undefined) {
    const bare = path.length > 1 && path.endsWith("/") ? path.replace(/\/+$/, "") : "";
    if (bare === "" || bare.startsWith("//") || lookup(bare) === undefined) return sendStatus(response, 404);
    const query = (request.url ?? "").slice(path.length);
    response.writeHead(307, { location: `${bare}${query}`, "content-length": 0 }).end();
    return;
  }
  const allowed = Object.keys(route).join(", ");
  if (allowCrossOrigin(exchange, allowed)) return;
  const handler = route[method as keyof Route];
  if (handler === undefined) return sendStatus(response, 405, allowed);
  if (context.draining && path !== "/health") response.setHeader("connection", "close");
  await handler(exchange);
}

/** True when a preflight was answered. */
function allowCrossOrigin({ request, response, context }: Exchange, allowed: string): boolean {
  const origin = context.origins.corsOrigin(request.headers);
  if (origin === undefined) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", "openenv-session");
  response.setHeader("vary", "origin");
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false;
  response.setHeader("access-control-allow-methods", allowed);
  response.setHeader("access-control-allow-headers", "content-type, authorization, openenv-session");
  response.writeHead(204).end();
  return true;
}

function fail(context: ServerContext, response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  if (error instanceof BodyTooLargeError) {
    // What is left of the body is not read: the connection ends with the answer.
    response.setHeader("connection", "close");
    return sendJson(response, 413, { detail: error.message });
  }
  context.runtime.log.error({ err: error }, "a request failed inside the server");
  sendFailure(response, { code: "EXECUTION_ERROR", message: "Internal Server Error" });
}

/**
 * Reads the JSON body and hands it on; an empty one is undefined. What is no JSON object is answered here.
 * @throws BodyTooLargeError
 */
export async function withBody(
  exchange: Exchange,
  handle: (body: Record<string, unknown> | undefined) => Promise<void>,
): Promise<void> {
  const text = await readBody(exchange.request, exchange.context.maxMessageBytes);
  const body = parseBody(exchange.request, text);
  if (body.ok) await handle(body.value);
  else sendInvalid(exchange.response, body.issues);
}
