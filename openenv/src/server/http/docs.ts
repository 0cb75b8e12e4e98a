import { readFile } from "node:fs/promises";
import { escapeHtml } from "../../util/escape-html.js";
import { type ApiParts, renderOpenApi } from "../openapi.js";
import { sendJson, sendStatus, sendText } from "./respond.js";
import type { Exchange, Handler, Route } from "./router.js";
import { tokenScript } from "./token-page.js";
import { frameAncestors } from "./web/headers.js";

/** Swagger UI's files, copied here when the package is built: the pages need no other host. */
const ASSETS = new URL("../../assets/docs/", import.meta.url);
const SCRIPT = "text/javascript; charset=utf-8";
const PAGE = "text/html; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/** The pages that describe the server's routes. */
export const DOCS_ROUTES: Record<string, Route> = {
  "/openapi.json": { GET: openApi },
  "/asyncapi.json": { GET: asyncApi },
  "/docs": { GET: page("docs.js") },
  "/redoc": { GET: page("redoc.js") },
  "/docs/frames": { GET: frames },
  "/docs/frames.css": { GET: framesStyle },
  "/docs/swagger-ui.css": { GET: asset("swagger-ui.css", STYLE) },
  "/docs/swagger-ui-bundle.js": { GET: asset("swagger-ui-bundle.js", SCRIPT) },
  "/docs/token.js": { GET: tokenScript },
  "/docs/docs.js": { GET: script({}) },
  // The same library as a page to read: everything unfolded, nothing to send.
  "/docs/redoc.js": { GET: script({ docExpansion: "full", supportedSubmitMethods: [] }) },
};

function openApi({ response, context }: Exchange): void {
  sendJson(response, 200, renderOpenApi(partsOf(context)));
}

async function asyncApi({ response, context }: Exchange): Promise<void> {
  const { renderAsyncApi } = await import("../asyncapi.js");
  sendJson(response, 200, renderAsyncApi(partsOf(context)));
}

async function frames({ response, context }: Exchange): Promise<void> {
  const [{ renderAsyncApi }, { renderFramesPage }] = await Promise.all([
    import("../asyncapi.js"),
    import("../frames-page.js"),
  ]);
  sendPage({ response, context }, FRAMES_POLICY, renderFramesPage(renderAsyncApi(partsOf(context))));
}

async function framesStyle({ response }: Exchange): Promise<void> {
  const { FRAMES_CSS } = await import("../frames-page.js");
  sendText(response, 200, { type: STYLE, text: FRAMES_CSS });
}

function partsOf({ runtime, web }: Exchange["context"]): ApiParts {
  const { mode, definition } = runtime;
  const { contract } = definition;
  return { mode, name: contract.name, schemas: contract.schemas(), web: web !== undefined };
}

/** The library puts styles and pictures into the page; scripts and data come from this server alone. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'";
/** A page to read, without a script. */
const FRAMES_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'";

function page(start: string): Handler {
  return ({ response, context }) => {
    const title = escapeHtml(context.runtime.definition.contract.name);
    sendPage({ response, context }, POLICY, renderPage(title, start));
  };
}

function sendPage({ response, context }: Pick<Exchange, "response" | "context">, policy: string, text: string): void {
  const ancestors = frameAncestors(context.web?.spaceId ?? null);
  response.setHeader("content-security-policy", `${policy}; ${ancestors}`);
  sendText(response, 200, { type: PAGE, text });
}

/** Addresses are relative, so that the page works below a prefix too. */
function renderPage(title: string, start: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/${start}"></script>
</body>
</html>
`;
}

function asset(name: string, type: string): Handler {
  return async ({ response }) => {
    const text = await readFile(new URL(name, ASSETS), "utf8").catch(() => undefined);
    if (text === undefined) return sendStatus(response, 404);
    response.setHeader("cache-control", "max-age=3600");
    sendText(response, 200, { type, text });
  };
}

function script(options: object): Handler {
  const settings = JSON.stringify({ url: "openapi.json", dom_id: "#page", validatorUrl: null, ...options });
  return ({ response }) => sendText(response, 200, { type: SCRIPT, text: `SwaggerUIBundle(${settings});` });
}
