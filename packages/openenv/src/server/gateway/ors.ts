import type { ServerContext } from "../context.js";
import { sendDetail } from "../http/respond.js";
import type { Handler, RequestContext, Route } from "../http/router.js";
import { type GatewayRoute, loadGateway, NOT_INSTALLED } from "./gateway.js";

type Handlers = Readonly<Record<string, Omit<Route, "key" | "askToken" | "isOpen" | "access">>>;

/**
 * ORS, the Open Reward Standard, which `@openenv-ts/gateway` serves. Its client reaches only the root of a host. A path
 * that lacks the name of the environment is redirected.
 */
export class Ors {
  readonly routes: Record<string, Route>;
  /** The routes below `/{environment}/` that the Task API does not have. */
  readonly below: Record<string, Route>;
  #gateway: ReturnType<typeof loadGateway> | undefined;

  constructor() {
    const ors = this.#answer;
    this.routes = {
      "/create_session": { POST: ors },
      "/create": { POST: ors },
      "/delete": { POST: ors },
      "/delete_session": { POST: ors },
      "/ping": { POST: ors },
      "/version": { GET: ors },
      ...toEnvironment("GET", ["splits", "tools", "task_tools", "prompt", "messages"]),
      ...toEnvironment("POST", ["tasks", "num_tasks", "task", "task_range", "call", "score_group"]),
    };
    this.below = {
      tools: { GET: ors },
      task_tools: { GET: ors },
      prompt: { GET: ors },
      messages: { GET: ors },
      call: { POST: ors },
      score_group: { POST: ors },
    };
  }

  /** Routes that ORS shares: a client of ORS names its session in every request, and gets its own answers. */
  share(routes: Handlers): Record<string, Route> {
    const share = (handler: Handler): Handler => {
      return (ctx) => ("x-session-id" in ctx.request.headers ? this.#answer(ctx) : handler(ctx));
    };
    return Object.fromEntries(
      Object.entries(routes).map(([path, route]) => [
        path,
        Object.fromEntries(Object.entries(route).map(([method, handler]) => [method, share(handler)])),
      ]),
    );
  }

  /** What `/openapi.json` lists of it; nothing if the package is not installed. */
  async describe(context: ServerContext): Promise<readonly GatewayRoute[]> {
    return (await this.#load(context))?.orsRoutes ?? [];
  }

  /** The first client of ORS loads the package. */
  #load(context: ServerContext): ReturnType<typeof loadGateway> {
    return (this.#gateway ??= loadGateway(context));
  }

  readonly #answer = async (ctx: RequestContext): Promise<void> => {
    const gateway = await this.#load(ctx.context);
    if (gateway === undefined) return sendDetail(ctx.response, 501, NOT_INSTALLED);
    await gateway.ors(ctx);
  };
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
