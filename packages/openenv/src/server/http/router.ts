import { IncomingMessage } from "node:http";
import type * as z from "zod";
import { clientAddress, type HttpRequest, type HttpResponse, type RequestOrigin, readArrival } from "#parts/sockets";
import { NO_SESSION, SESSION_HEADER } from "../../protocol/http.js";
import { type ErrorData, errorData } from "../../protocol/messages.js";
import type { Principal } from "../../session/attachable-session.js";
import { internalError } from "../../session/failure.js";
import { SerializationError, serializationFailure } from "../../session/messages/message-codec.js";
import type { SessionKey } from "../../session/registry/directory.js";
import { SessionRejectedError } from "../../session/session-rejected-error.js";
import { CLIENTS_ONLY } from "../access/authorization.js";
import type { ServerContext } from "../context.js";
import { isRefusal, refusalData } from "../plugins/hook.js";
import type { Plugins } from "../plugins/plugins.js";
import { type AddressedRequest, type AddressProblem, decodePath, findAddress, isSessionPath } from "./address.js";
import { BodiesTooLargeError, BodyTooLargeError, checkBody, parseBody, readBody } from "./body.js";
import { passToWorker } from "./pass-on.js";
import { requesterOf } from "./requester.js";
import { sendDetail, sendFailure, sendInvalid, sendStatus } from "./respond.js";
import { inTurn, takeTurn } from "./turn.js";

/** The time that the rest of a rejected body is read. */
const DROP_REST_MS = 2_000;

/** Answered without a client's token: probes send none, and the page must load before the user can enter one. */
const OPEN_PATHS = /^\/(health|livez|readyz|web\/?|web\/.+\.\w+|docs\/token\.js)?$/;
/** A page requests these with its token and gets a cookie, because a browser that opens an address sends no token. */
const COOKIE_PATHS = /^\/(web\/info|openapi\.json)$/;

/** Answered until the process exits. */
const PROBES = /^\/(health|livez|readyz)$/;

/** Headers that a page of an allowed origin may send. */
const ALLOWED_HEADERS =
  "content-type, authorization, openenv-session, openenv-session-token, x-openenv-session-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id";

/** One request, its response and the server. */
export interface RequestContext {
  request: HttpRequest;
  response: HttpResponse;
  context: ServerContext;
  /** Decoded, without the query and without the address. */
  path: string;
  /** The address of a path below `/session/<name>`. */
  address?: AddressedRequest | undefined;
  /** The peer, if a plugin has recognised it. */
  principal?: Principal | undefined;
  /** Forwarded by another worker of the cluster. */
  forwarded: boolean;
  /** Milliseconds on the clock of `performance.now()`. */
  arrivedAt: number;
  /** Bytes of `context.bodies` that its body takes until the request has been handled. */
  bodyBytes: number;
  /** Its client did not wait for the previous answer. */
  isPipelined: boolean;
}

export type Handler = (ctx: RequestContext) => void | Promise<void>;

type Method = "GET" | "POST" | "DELETE";
type Authorize = NonNullable<Plugins["authorize"]>;

/** The handlers of one path, by method. */
export type Route = { [M in Method]?: Handler } & {
  /** The name of a request's session: another worker that has it answers. A route whose body names it asks itself. */
  key?(ctx: RequestContext): SessionKey;
  /** A peer needs no token. */
  isOpen?: boolean;
  /** Methods that need no token of a client: `open` to all peers, or `guarded`, whose handlers check another right. */
  access?: { readonly [M in Method]?: "open" | "guarded" };
  /** Answers a request that lacks the client's token with a page; false if the request is not for a page. */
  askToken?(ctx: RequestContext): boolean;
};

/** Finds the route of a path. */
export type Lookup = (path: string) => Route | undefined;

/** Handles every request: checks origin and token, redirects a trailing slash, calls the handler that `lookup` finds. */
export function createRouter(context: ServerContext, lookup: Lookup) {
  return (
    request: HttpRequest,
    response: HttpResponse,
    { forwarded = false, isPipelined = false }: RequestOrigin = {},
  ): Promise<void> => {
    const { path } = splitTarget(request);
    const found = findAddress(path, request.headers);
    const addressed = isSessionPath(found) ? found : undefined;
    const ctx: RequestContext = {
      request,
      response,
      context,
      path: decodePath(addressed?.path ?? path),
      address: addressed && { hash: addressed.address, retry: addressed.retry === true },
      forwarded,
      arrivedAt: readArrival(),
      bodyBytes: 0,
      isPipelined,
    };
    const routes = found === undefined || isSessionPath(found) ? lookup : () => refuseWith(found);
    // A request with a body waits for its turn after the body has been read.
    return isPipelined && !hasBody(request) ? takeTurn(ctx, () => handle(ctx, routes)) : handle(ctx, routes);
  };
}

/** The route of an address that is not valid. */
function refuseWith({ status, data }: AddressProblem): Route {
  const refuse = (ctx: RequestContext): void => sendFailure(ctx, data, { status });
  return { GET: refuse, POST: refuse, DELETE: refuse };
}

function hasBody({ headers }: HttpRequest): boolean {
  return "content-length" in headers || "transfer-encoding" in headers;
}

async function handle(ctx: RequestContext, lookup: Lookup): Promise<void> {
  const { response, context } = ctx;
  context.requests++;
  response.on("close", () => context.requests--);
  try {
    await answer(ctx, lookup);
  } catch (error) {
    fail(ctx, error);
  } finally {
    context.bodies.give(ctx.bodyBytes);
  }
}

function answer(ctx: RequestContext, lookup: Lookup): void | Promise<void> {
  const { request, response, context, path } = ctx;
  const { origins } = context;
  const objection =
    (request.method ?? "GET") === "GET" && path !== "/mcp"
      ? origins.hostRejectionReason(request.headers)
      : origins.rejectionReason(request.headers);
  if (objection !== undefined) return sendDetail(response, 403, objection);
  const route = lookup(path);
  if (route === undefined) {
    const location = withoutSlash(ctx, lookup);
    if (location === undefined) return sendStatus(response, 404);
    response.writeHead(307, { location, "content-length": 0 }).end();
    return;
  }
  if (allowCrossOrigin(ctx, route)) return;
  const { authorize } = context.plugins;
  return authorize === undefined ? permit(ctx, route) : recognise(ctx, route, authorize);
}

/** A plugin decides whether the peer may make the request. */
async function recognise(ctx: RequestContext, route: Route, authorize: Authorize): Promise<void> {
  const { request, path } = ctx;
  const { method = "GET", url = "/", headers } = request;
  const isOpen = accessTo(route, method) === "open" || OPEN_PATHS.test(path);
  const decided = await authorize({ method, url, headers, address: clientAddress(request), isOpen });
  if (isRefusal(decided)) return refuse(ctx, route, refusalData(decided));
  ctx.principal = decided;
  return permit(ctx, route);
}

function permit(ctx: RequestContext, route: Route): void | Promise<void> {
  const { context, path, principal, request } = ctx;
  if (principal !== undefined) return perform(ctx, route);
  if (!context.authorization.isClient(request.headers) && accessTo(route, request.method) === undefined) {
    const isViewer = path === "/web/info" && context.authorization.isViewer(request.headers, undefined, false);
    if (!isViewer && !OPEN_PATHS.test(path)) return refuse(ctx, route, errorData("UNAUTHORIZED", CLIENTS_ONLY));
  }
  if (isGuess(ctx)) return context.audit.refuse(requesterOf(ctx)).then(() => perform(ctx, route));
  return perform(ctx, route);
}

function accessTo({ isOpen, access }: Route, method = "GET"): "open" | "guarded" | undefined {
  return isOpen === true ? "open" : access?.[method as Method];
}

/** True for a wrong token on a server that compares it only with the orchestrator's: the peer is a client. */
function isGuess({ request, context, path, forwarded }: RequestContext): boolean {
  const { authorization, runtime } = context;
  return runtime.guarded && path === "/mcp" && !forwarded && authorization.isWrong(request.headers) === true;
}

function perform(ctx: RequestContext, route: Route): void | Promise<void> {
  const { request, response, context, path } = ctx;
  const cookie = COOKIE_PATHS.test(path) ? context.authorization.cookieFor(request.headers) : undefined;
  if (cookie !== undefined) response.setHeader("set-cookie", cookie);
  const handler = route[(request.method ?? "GET") as Method];
  if (handler === undefined) return sendStatus(response, 405, methodsOf(route));
  // A balancer must not keep a connection to a server that is about to exit.
  if (context.draining) response.setHeader("connection", "close");
  if (context.closing && !PROBES.test(path)) {
    return sendDetail(response, 503, "the server is shutting down");
  }
  if (context.cluster === undefined || route.key === undefined) return handler(ctx);
  return passToWorker(ctx, route.key(ctx)).then((isPassed) => (isPassed ? undefined : handler(ctx)));
}

function methodsOf({ key: _, askToken: __, isOpen: ___, access: ____, ...handlers }: Route): string {
  return Object.keys(handlers).join(", ");
}

async function refuse(ctx: RequestContext, route: Route, data: ErrorData): Promise<void> {
  if (data.code === "UNAUTHORIZED") {
    await ctx.context.audit.refuse(requesterOf(ctx));
    ctx.response.setHeader("www-authenticate", "Bearer");
    if (route.askToken?.(ctx)) return;
  }
  sendFailure(ctx, data);
}

/** Sets the headers for a page of an allowed origin; true if the request was a preflight, which is answered here. */
function allowCrossOrigin({ request, response, context }: RequestContext, route: Route): boolean {
  const origin = context.origins.corsOrigin(request.headers);
  if (origin === undefined) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", "openenv-session, openenv-warning, mcp-session-id");
  response.setHeader("vary", "origin");
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false;
  response.setHeader("access-control-allow-methods", methodsOf(route));
  response.setHeader("access-control-allow-headers", ALLOWED_HEADERS);
  response.writeHead(204).end();
  return true;
}

interface Target {
  path: string;
  query: string;
}

/** A client that uses the server as a proxy sends an absolute target: `GET http://host/path`. */
function splitTarget({ url = "/" }: HttpRequest): Target {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = target.indexOf("?");
  return mark < 0 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark) };
}

/** The query of a request, whose target may be an absolute URL that is not valid. */
export function readQuery(request: HttpRequest): URLSearchParams {
  return new URLSearchParams(splitTarget(request).query);
}

/** The path without its trailing slashes, if it has some and a route without them exists. */
function withoutSlash({ request }: RequestContext, lookup: Lookup): string | undefined {
  const { path, query } = splitTarget(request);
  let end = path.length;
  while (path[end - 1] === "/") end--;
  const bare = path.slice(0, end);
  // A browser reads a backslash as a slash, and a path that begins with two as another host.
  const isElsewhere = bare === "" || end === path.length || /^[/\\]{2}/.test(bare);
  const addressed = findAddress(bare, {});
  const target = isSessionPath(addressed) ? addressed.path : bare;
  return isElsewhere || lookup(decodePath(target)) === undefined ? undefined : bare + query;
}

/** Answers a request whose handler threw. */
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
    return sendFailure(ctx, errorData("EXECUTION_ERROR", serializationFailure(error)));
  }
  if (error instanceof BodyTooLargeError || error instanceof BodiesTooLargeError) {
    dropRest(request);
    if (error instanceof BodyTooLargeError) return sendDetail(response, 413, error.message);
    return sendFailure(ctx, errorData("CAPACITY_REACHED", error.message));
  }
  context.runtime.log.error({ err: error, fault: "infrastructure" }, "internal error while handling a request");
  sendFailure(ctx, internalError());
}

/**
 * A connection that is closed while its client still writes loses the answer, so the rest is read for a while. Other
 * runtimes than Node read or drop it themselves.
 */
function dropRest(request: HttpRequest): void {
  if (!(request instanceof IncomingMessage)) return;
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
  handle: (body: Record<string, unknown> | undefined, text: string) => void | Promise<void>,
): Promise<void> {
  const bytes = await readBody(ctx);
  await inTurn(ctx, async () => {
    const text = bytes.toString();
    const body = parseBody(ctx, text);
    if (body.ok) return handle(body.value, text);
    sendInvalid(ctx, body.issues);
  });
}

/** Does the same as {@link withBody} for a body that must fit `schema`; others are answered 422. */
export function withCheckedBody<S extends z.ZodObject>(
  ctx: RequestContext,
  schema: S,
  handle: (body: z.output<S>) => void | Promise<void>,
): Promise<void> {
  return withBody(ctx, (body) => {
    const checked = checkBody(schema, body);
    if (checked.ok) return handle(checked.value);
    sendInvalid(ctx, checked.issues);
  });
}
