import type { IncomingMessage, ServerResponse } from "node:http";
import type * as z from "zod";
import { NO_SESSION, SESSION_HEADER } from "../../protocol/http.js";
import { SerializationError, serializationFailure } from "../../session/messages/message-codec.js";
import { SessionRejectedError } from "../../session/session-rejected-error.js";
import { CLIENTS_ONLY } from "../access/authorization.js";
import type { ServerContext } from "../context.js";
import { readArrival } from "../limits/loop-clock.js";
import { sendTokenPage } from "../routes/web/token-page.js";
import { BodiesTooLargeError, BodyTooLargeError, checkBody, parseBody, readBody } from "./body.js";
import { findPipeline, inTurn, Pipeline, takeTurn } from "./pipeline.js";
import { sendFailure, sendInvalid, sendJson, sendStatus } from "./respond.js";

/** How long a refused body may go on. */
const DROP_REST_MS = 2_000;

/** Answered without a client's token: probes carry none, and the page must be there to be given one. */
const OPEN_PATHS = /^\/(health|livez|readyz|web\/?|web\/.+\.\w+|docs\/token\.js)?$/;
/** Pages ask these with the token that they were given, and get the cookie for what a browser opens by its address. */
const COOKIE_PATHS = /^\/(web\/info|openapi\.json)$/;

/** Answered until the process ends. */
const PROBES = /^\/(health|livez|readyz)$/;

/** What a page of an allowed origin may send. */
const ALLOWED_HEADERS =
  "content-type, authorization, openenv-session, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id";

/** One request with what its handler needs. */
export interface RequestContext {
  request: IncomingMessage;
  response: ServerResponse;
  context: ServerContext;
  /** Without the query, and with nothing percent-encoded. */
  path: string;
  /** Another server of the cluster sent it here. */
  forwarded: boolean;
  /** By the clock of `performance.now()`. */
  arrivedAt: number;
  /** What its body holds of `context.bodies`, until the request has been handled. */
  bodyBytes: number;
  /** Its client did not wait for the answer before. */
  isPipelined: boolean;
}

export type Handler = (ctx: RequestContext) => void | Promise<void>;

/** Methods of one path. */
export type Route = { GET?: Handler; POST?: Handler; DELETE?: Handler };

/** Finds the route of a path; undefined for none. */
export type Lookup = (path: string) => Route | undefined;

/** Answers every request: 404, 405, redirects of a trailing slash, origins, failures and the handlers of `lookup`. */
export function createRouter(context: ServerContext, lookup: Lookup) {
  return (request: IncomingMessage, response: ServerResponse, forwarded = false): void => {
    const ctx = {
      request,
      response,
      context,
      path: decodePath(splitTarget(request).path),
      forwarded,
      arrivedAt: readArrival(),
      bodyBytes: 0,
      isPipelined: false,
    };
    Pipeline.of(request.socket, context.backlog).enter(response, (isPipelined) => {
      ctx.isPipelined = isPipelined;
      // One with a body takes its turn when that has been read.
      if (isPipelined && !hasBody(request)) void takeTurn(ctx, () => handle(ctx, lookup));
      else void handle(ctx, lookup);
    });
  };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return "content-length" in headers || "transfer-encoding" in headers;
}

async function handle(ctx: RequestContext, lookup: Lookup): Promise<void> {
  const { request, response, context } = ctx;
  context.requests++;
  response.once("close", () => context.requests--);
  try {
    await answer(ctx, lookup);
  } catch (error) {
    fail(ctx, error);
  } finally {
    context.bodies.give(ctx.bodyBytes);
    findPipeline(request.socket)?.answered(response);
  }
}

async function answer(ctx: RequestContext, lookup: Lookup): Promise<void> {
  const { request, response, context, path } = ctx;
  const method = request.method ?? "GET";
  const { origins } = context;
  const objection =
    method === "GET" ? origins.hostRejectionReason(request.headers) : origins.rejectionReason(request.headers);
  if (objection !== undefined) return sendJson(response, 403, { detail: objection });
  const route = lookup(path);
  if (route === undefined) {
    const location = withoutSlash(ctx, lookup);
    if (location === undefined) return sendStatus(response, 404);
    response.writeHead(307, { location, "content-length": 0 }).end();
    return;
  }
  const allowed = Object.keys(route).join(", ");
  if (allowCrossOrigin(ctx, allowed)) return;
  if (!context.authorization.isClient(request.headers) && !OPEN_PATHS.test(path)) return rejectUnauthorized(ctx);
  const cookie = COOKIE_PATHS.test(path) ? context.authorization.cookieFor(request.headers) : undefined;
  if (cookie !== undefined) response.setHeader("set-cookie", cookie);
  const handler = route[method as keyof Route];
  if (handler === undefined) return sendStatus(response, 405, allowed);
  // A balancer keeps no connection to a server that is about to end.
  if (context.draining) response.setHeader("connection", "close");
  if (context.closing && !PROBES.test(path)) {
    return sendJson(response, 503, { detail: "the server is shutting down" });
  }
  await handler(ctx);
}

function rejectUnauthorized(ctx: RequestContext): void {
  ctx.response.setHeader("www-authenticate", "Bearer");
  if (sendTokenPage(ctx)) return;
  sendFailure(ctx, { code: "UNAUTHORIZED", message: CLIENTS_ONLY });
}

/** True when a preflight was answered. */
function allowCrossOrigin({ request, response, context }: RequestContext, allowed: string): boolean {
  const origin = context.origins.corsOrigin(request.headers);
  if (origin === undefined) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", "openenv-session, mcp-session-id");
  response.setHeader("vary", "origin");
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false;
  response.setHeader("access-control-allow-methods", allowed);
  response.setHeader("access-control-allow-headers", ALLOWED_HEADERS);
  response.writeHead(204).end();
  return true;
}

interface Target {
  path: string;
  query: string;
}

/** A client that takes the server for a proxy names it in the target: `GET http://host/path`. */
function splitTarget({ url = "/" }: IncomingMessage): Target {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = target.indexOf("?");
  return mark < 0 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark) };
}

function decodePath(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Where a path that ends with slashes leads when there is a route without them. */
function withoutSlash({ request }: RequestContext, lookup: Lookup): string | undefined {
  const { path, query } = splitTarget(request);
  let end = path.length;
  while (path[end - 1] === "/") end--;
  const bare = path.slice(0, end);
  const isElsewhere = bare === "" || end === path.length || bare.startsWith("//");
  return isElsewhere || lookup(decodePath(bare)) === undefined ? undefined : bare + query;
}

/** What a request is answered that its handler gave up. */
function fail(ctx: RequestContext, error: unknown): void {
  const { request, response, context } = ctx;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  if (error instanceof SessionRejectedError) {
    response.setHeader(SESSION_HEADER, NO_SESSION);
    return sendFailure(ctx, error.data);
  }
  if (error instanceof SerializationError) {
    return sendFailure(ctx, { code: "EXECUTION_ERROR", message: serializationFailure(error) });
  }
  if (error instanceof BodyTooLargeError || error instanceof BodiesTooLargeError) {
    dropRest(request);
    if (error instanceof BodyTooLargeError) return sendJson(response, 413, { detail: error.message });
    return sendFailure(ctx, { code: "CAPACITY_REACHED", message: error.message });
  }
  context.runtime.log.error({ err: error }, "a request failed inside the server");
  sendFailure(ctx, { code: "EXECUTION_ERROR", message: "Internal Server Error" });
}

/** A connection that is cut while its client still writes loses the answer: what is left is read for a while. */
function dropRest(request: IncomingMessage): void {
  const { socket } = request;
  const timer = setTimeout(() => socket.destroy(), DROP_REST_MS);
  timer.unref();
  request.once("close", () => clearTimeout(timer));
  request.resume();
}

/**
 * Reads the JSON body and passes it to `handle` with its text; an empty body is undefined. Answers 422 to a body that is
 * not a JSON object.
 * @throws BodyTooLargeError, BodiesTooLargeError
 */
export async function withBody(
  ctx: RequestContext,
  handle: (body: Record<string, unknown> | undefined, text: string) => Promise<void>,
): Promise<void> {
  const bytes = await readBody(ctx);
  await inTurn(ctx, async () => {
    const text = bytes.toString();
    const body = parseBody(ctx.request, text, ctx.context.runtime.maxMessageItems);
    if (body.ok) await handle(body.value, text);
    else sendInvalid(ctx, body.issues);
  });
}

/** As {@link withBody}, for a body that must fit `schema`; others are answered 422. */
export function withCheckedBody<S extends z.ZodObject>(
  ctx: RequestContext,
  schema: S,
  handle: (body: z.output<S>) => Promise<void>,
): Promise<void> {
  return withBody(ctx, async (body) => {
    const checked = checkBody(schema, body);
    if (checked.ok) await handle(checked.value);
    else sendInvalid(ctx, checked.issues);
  });
}
