import type { ServerContext } from "../context.js";
import type { GatewayRoute } from "../gateway/gateway.js";
import { sendJson, sendText } from "../http/respond.js";
import type { Handler, RequestContext, Route } from "../http/router.js";
import type { OpenApi } from "./docs/page.js";
import { frameAncestors } from "./web/headers.js";
import { sendTokenPage, tokenScript } from "./web/token-page.js";

type Describe = (context: ServerContext) => Promise<readonly GatewayRoute[]>;

/** The pages that describe the server's routes; `describe` has those of other standards. */
export function createDocsRoutes(describe: Describe): Record<string, Route> {
  const openApi: Handler = async ({ response, context }) =>
    sendJson(response, 200, await describeApi(context, describe));
  return {
    "/openapi.json": { GET: openApi },
    "/docs": { GET: page(describe, true), askToken: sendTokenPage },
    // The same page for reading: unfolded, without forms.
    "/redoc": { GET: page(describe, false), askToken: sendTokenPage },
    "/docs/token.js": { GET: tokenScript },
    "/docs/docs.css": { GET: docsStyle },
    "/docs/docs.js": { GET: docsScript },
  };
}

/** Loaded with the first reader, because the server starts faster without it. */
async function describeApi(context: ServerContext, describe: Describe): Promise<object> {
  const { renderOpenApi } = await import("./docs/openapi.js");
  const { mode, definition } = context.runtime;
  const { contract } = definition;
  const web = context.web !== undefined;
  const ors = await describe(context);
  const keeps = context.sessions.keeper !== undefined;
  return renderOpenApi({ mode, name: contract.name, schemas: contract.schemas(), web, ors, keeps });
}

/** Scripts, styles and data come from this server alone. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

function page(describe: Describe, sends: boolean): Handler {
  return async ({ response, context }) => {
    const { renderDocsPage } = await import("./docs/page.js");
    const api = (await describeApi(context, describe)) as OpenApi;
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
