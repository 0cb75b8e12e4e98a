import { forOperators } from "../../http/operator.js";
import type { Handler, RequestContext, Route } from "../../http/router.js";

/** The files of the page: every path with a suffix. */
export const WEB_FILE = /^\/web\/.+\.\w+$/;
export const WEB_ASSET: Route = { GET: lazily(async () => (await page()).asset) };

/** The page and the routes that it requests. */
export const WEB_ROUTES: Record<string, Route> = {
  "/": { GET: toPage },
  "/web": { GET: toPage },
  "/web/": WEB_ASSET,
  "/web/info": { GET: lazily(async () => (await page()).info) },
  "/web/report": { GET: lazily(async () => (await page()).report) },
};

/** Also there without the page: `openenv fleet` reads it. */
export const VIEW_ROUTES: Record<string, Route> = {
  "/web/server": {
    GET: forOperators(
      lazily(async () => (await page()).server),
      "reads the server view",
      "polls",
    ),
  },
};

/** Relative, so that it stays below the prefix of a proxy. */
function toPage({ response }: RequestContext): void {
  response.writeHead(307, { location: "web/", "content-length": 0 }).end();
}

/** Loads the code of the page with the first request for it. */
function lazily(load: () => Promise<Handler>): Handler {
  return async (ctx) => (await load())(ctx);
}

function page(): Promise<typeof import("./page.js")> {
  return import("./page.js");
}
