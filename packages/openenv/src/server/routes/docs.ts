import { findGateway } from "../gateway/gateway.js";
import { sendJson, sendText } from "../http/respond.js";
import type { Handler, RequestContext, Route } from "../http/router.js";
import type { OpenApi } from "./docs/page.js";
import { frameAncestors } from "./web/headers.js";
import { sendTokenPage, tokenScript } from "./web/token-page.js";

/** The pages that describe the server's routes. */
export const DOCS_ROUTES: Record<string, Route> = {
  "/openapi.json": { GET: openApi },
  "/docs": { GET: page(true), askToken: sendTokenPage },
  // The same page for reading: unfolded, without forms.
  "/redoc": { GET: page(false), askToken: sendTokenPage },
  "/docs/token.js": { GET: tokenScript },
  "/docs/docs.css": { GET: docsStyle },
  "/docs/docs.js": { GET: docsScript },
};

async function openApi({ response, context }: RequestContext): Promise<void> {
  sendJson(response, 200, await describeApi(context));
}

/** Loaded with the first reader, because the server starts faster without it. */
async function describeApi(context: RequestContext["context"]): Promise<object> {
  const { renderOpenApi } = await import("./docs/openapi.js");
  const { mode, definition } = context.runtime;
  const { contract } = definition;
  const gateway = mode === "simulation" ? await findGateway(context) : undefined;
  const web = context.web !== undefined;
  return renderOpenApi({ mode, name: contract.name, schemas: contract.schemas(), web, ors: gateway?.orsRoutes ?? [] });
}

/** Scripts, styles and data come from this server alone. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

function page(sends: boolean): Handler {
  return async ({ response, context }) => {
    const { renderDocsPage } = await import("./docs/page.js");
    const api = (await describeApi(context)) as OpenApi;
    const ancestors = frameAncestors(context.web?.spaceId ?? null);
    response.setHeader("content-security-policy", `${POLICY}; ${ancestors}`);
    sendText(response, 200, { type: "text/html; charset=utf-8", text: renderDocsPage(api, { sends }) });
  };
}

async function docsStyle({ response }: RequestContext): Promise<void> {
  const { DOCS_CSS } = await import("./docs/style.js");
  sendText(response, 200, { type: "text/css; charset=utf-8", text: DOCS_CSS });
}

async function docsScript({ response }: RequestContext): Promise<void> {
  const { DOCS_SCRIPT } = await import("./docs/script.js");
  sendText(response, 200, { type: "text/javascript; charset=utf-8", text: DOCS_SCRIPT });
}
