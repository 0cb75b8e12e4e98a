import { forOperators } from "../operator.js";
import type { Exchange, Handler, Route } from "../router.js";

/** What the page is made of: all that has a suffix. */
export const WEB_FILE = /^\/web\/.+\.\w+$/;
export const WEB_ASSET: Route = { GET: lazily(async () => (await page()).asset) };

/** The page and what it asks at its start. */
export const WEB_ROUTES: Record<string, Route> = {
  "/": { GET: toPage },
  "/web": { GET: toPage },
  "/web/": WEB_ASSET,
  "/web/info": { GET: lazily(async () => (await page()).info) },
  "/web/server": { GET: forOperators(lazily(async () => (await page()).server)) },
};

/**
 * The routes of the reference's web interface, which production does not have; every visitor has a session, known by the
 * cookie of HTTP sessions.
 */
export const VISITOR_ROUTES: Record<string, Route> = {
  "/web/metadata": { GET: lazily(async () => (await page()).metadata) },
  "/web/reset": { POST: lazily(async () => (await visitor()).reset) },
  "/web/step": { POST: lazily(async () => (await visitor()).step) },
  "/web/state": { GET: lazily(async () => (await visitor()).state) },
};

/** Relative, so that it stays below the prefix of a proxy. */
function toPage({ response }: Exchange): void {
  response.writeHead(307, { location: "web/", "content-length": 0 }).end();
}

/** A server that nobody looks at does not load what it would be shown with. */
function lazily(load: () => Promise<Handler>): Handler {
  return async (exchange) => (await load())(exchange);
}

function page(): Promise<typeof import("./page.js")> {
  return import("./page.js");
}

function visitor(): Promise<typeof import("./visitor.js")> {
  return import("./visitor.js");
}
