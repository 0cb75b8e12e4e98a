import { findGateway, NOT_INSTALLED } from "../gateway/gateway.js";
import { sendDetail } from "../http/respond.js";
import type { Handler, RequestContext, Route } from "../http/router.js";

/**
 * ORS, the Open Reward Standard. Its client reaches only the root of a host. A path that lacks the name of the
 * environment is redirected.
 */
export const ORS_ROUTES: Record<string, Route> = {
  "/create_session": { POST: ors },
  "/create": { POST: ors },
  "/delete": { POST: ors },
  "/delete_session": { POST: ors },
  "/ping": { POST: ors },
  "/version": { GET: ors },
  ...toEnvironment("GET", ["splits", "tools", "task_tools", "prompt", "messages"]),
  ...toEnvironment("POST", ["tasks", "num_tasks", "task", "task_range", "call", "score_group"]),
};

/** The routes below `/{environment}/` that the Task API does not have. */
export const ORS_ENVIRONMENT_ROUTES: Record<string, Route> = {
  tools: { GET: ors },
  task_tools: { GET: ors },
  prompt: { GET: ors },
  messages: { GET: ors },
  call: { POST: ors },
  score_group: { POST: ors },
};

/** Routes that ORS shares: a client of ORS names its session in every request, and gets its own answers. */
export function sharedWithOrs(routes: Record<string, Omit<Route, "key" | "askToken">>): Record<string, Route> {
  const share = (handler: Handler): Handler => {
    return (ctx) => ("x-session-id" in ctx.request.headers ? ors(ctx) : handler(ctx));
  };
  return Object.fromEntries(
    Object.entries(routes).map(([path, route]) => [
      path,
      Object.fromEntries(Object.entries(route).map(([method, handler]) => [method, share(handler)])),
    ]),
  );
}

async function ors(ctx: RequestContext): Promise<void> {
  const gateway = await findGateway(ctx.context);
  if (gateway === undefined) return sendDetail(ctx.response, 501, NOT_INSTALLED);
  await gateway.ors(ctx);
}

function toEnvironment(method: "GET" | "POST", names: readonly string[]): Record<string, Route> {
  const redirect = ({ request, response, context, path }: RequestContext): void => {
    const { url = "" } = request;
    const query = url.includes("?") ? url.slice(url.indexOf("?")) : "";
    const name = encodeURIComponent(context.runtime.definition.contract.name.toLowerCase());
    response.writeHead(308, { location: `/${name}${path}${query}`, "content-length": 0 }).end();
  };
  return Object.fromEntries(names.map((name) => [`/${name}`, { [method]: redirect }]));
}
