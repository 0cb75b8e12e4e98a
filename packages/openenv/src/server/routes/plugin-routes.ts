import { ConfigError } from "../../errors.js";
import { errorData } from "../../protocol/messages.js";
import { clip } from "../../util/text/clip.js";
import { decodePath } from "../http/address.js";
import { readBody } from "../http/body.js";
import { forOperators, forViewers } from "../http/operator.js";
import { sendDetail, sendFailure, sendStatus } from "../http/respond.js";
import type { Handler, Lookup, RequestContext, Route } from "../http/router.js";
import { sendResponse } from "../http/web-response.js";
import type { PluginAccess, PluginRoute } from "../plugins/plugin.js";
import type { Plugins } from "../plugins/plugins.js";
import type { Mount } from "./mount.js";

type Mounted = Plugins["mounted"][number];

const PATH = /^(?:\/[\w.~-]+)+(?:\/\*)?$/;
const METHODS = ["GET", "POST", "DELETE"] as const;
/** The first segments of paths of the server. */
const RESERVED = /^\/(?:ws|mcp|web|docs|session|sessions)(?:\/|$)/;
/** A segment that leads elsewhere when a handler decodes and resolves the path, as for a file. */
const DOT_SEGMENT = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

/** The routes of plugins. @throws ConfigError for a path that the server has in some mode, or another plugin. */
export function pluginRoutes({ mounted }: Plugins, own: Lookup): Mount {
  const routes: Record<string, Route> = {};
  const prefixes: [string, Route][] = [];
  for (const one of mounted) {
    for (const [path, route] of Object.entries(one.plugin.routes ?? {})) {
      const problem = PATH.test(path) ? clash(path, own, routes) : "must have segments of letters, digits and . ~ - _";
      if (problem !== undefined) {
        throw new ConfigError(
          `The route "${path}" of the plugin "${one.plugin.name}" ${problem}: choose another path.`,
        );
      }
      routes[path] = toRoute(one, path, route);
      if (path.endsWith("/*")) prefixes.push([path.slice(0, -1), routes[path] as Route]);
    }
  }
  prefixes.sort(([a], [b]) => b.length - a.length);
  return {
    routes,
    find: (path) => prefixes.find(([prefix]) => path.startsWith(prefix) && path !== prefix)?.[1],
  };
}

function clash(path: string, own: Lookup, routes: Readonly<Record<string, Route>>): string | undefined {
  const bare = path.replace(/\/\*$/, "");
  if (path in routes) return "is that of another plugin";
  return RESERVED.test(path) || own(bare) !== undefined || own(path) !== undefined ? "is one of the server" : undefined;
}

function toRoute(mounted: Mounted, path: string, route: PluginRoute): Route {
  const accessOf = (method: (typeof METHODS)[number]): PluginAccess =>
    (typeof route.access === "object" ? route.access[method] : route.access) ?? "client";
  const guard = (handler: Handler, access: PluginAccess): Handler => {
    if (access === "viewer") return forViewers(handler);
    return access === "operator" ? forOperators(handler, `calls ${path}`) : handler;
  };
  const methods = METHODS.filter((method) => route[method] !== undefined);
  const handlers = methods.map((method) => [
    method,
    guard((ctx) => {
      const url = readUrl(ctx.request);
      if (typeof url === "string") return sendDetail(ctx.response, 400, url);
      if (!isAt(path, url, ctx.path)) return sendStatus(ctx.response, 404);
      return answer(ctx, mounted, { url, handle: (request, call) => route[method]?.(request, call) });
    }, accessOf(method)),
  ]);
  const free = { open: "open", viewer: "guarded", client: undefined, operator: undefined } as const;
  const access = Object.fromEntries(methods.map((method) => [method, free[accessOf(method)]]));
  return { ...Object.fromEntries(handlers), access };
}

/** The URL that a handler sees, or why the request has none. */
function readUrl({ url = "/", headers: { host = "localhost" } }: RequestContext["request"]): URL | string {
  if (!url.startsWith("/")) return `The request target "${clip(url, 100)}" must be a path that begins with "/".`;
  const base = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
  // A user name, a path or a query in the header would become a part of the URL.
  if (base?.href === `http://${base?.host}/`) return new URL(url, base);
  return `The header Host, "${clip(host, 100)}", must be a name or an address, with a port if needed.`;
}

/** True if a handler that reads the URL sees the path that the router has matched and decoded. */
function isAt(route: string, { pathname }: URL, path: string): boolean {
  const isBelow = !route.endsWith("/*") || pathname.startsWith(route.slice(0, -1));
  // A handler may decode the valid parts of a path that cannot be decoded as a whole.
  const isEncoded = decodePath(pathname) === pathname && pathname.includes("%");
  return isBelow && decodePath(pathname) === path && !isEncoded && !DOT_SEGMENT.test(path);
}

async function answer(
  ctx: RequestContext,
  { plugin, server, caller }: Mounted,
  { url, handle }: { url: URL; handle: (...given: Parameters<NonNullable<PluginRoute["GET"]>>) => unknown },
): Promise<void> {
  const gone = new AbortController();
  ctx.response.once("close", () => {
    if (!ctx.response.writableFinished) gone.abort();
  });
  const request = await toRequest(ctx, url, gone.signal);
  let response: unknown;
  try {
    response = await handle(request, { principal: ctx.principal, server });
    if (!(response instanceof Response)) throw new TypeError("a route must return a Response");
  } catch (error) {
    const { code, message } = caller.fail(`route ${ctx.path}`, error);
    if (!ctx.response.destroyed) sendFailure(ctx, errorData(code, message));
    return;
  }
  if (ctx.response.destroyed) return void response.body?.cancel();
  await sendResponse(ctx.response, response, gone.signal).catch((error: unknown) => {
    caller.fail(`route ${plugin.name} ${ctx.path}`, error);
    ctx.response.destroy();
  });
}

async function toRequest(ctx: RequestContext, url: URL, signal: AbortSignal): Promise<Request> {
  const { method = "GET", headers } = ctx.request;
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [value].flat().map((one) => [name, one]),
  );
  const body = method === "GET" ? undefined : new Uint8Array(await readBody(ctx));
  return new Request(url, { method, headers: given, signal, ...(body && { body }) });
}
