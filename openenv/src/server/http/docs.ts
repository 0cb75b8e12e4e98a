import { readFile } from "node:fs/promises";
import { renderOpenApi } from "../openapi.js";
import { sendJson, sendStatus, sendText } from "./respond.js";
import type { Exchange, Handler, Route } from "./router.js";

/** Swagger UI's files, copied here when the package is built: the pages need no other host. */
const ASSETS = new URL("../../assets/docs/", import.meta.url);
const SCRIPT = "text/javascript; charset=utf-8";

/** The pages that describe the server's routes. */
export const DOCS_ROUTES: Record<string, Route> = {
  "/openapi.json": { GET: openApi },
  "/docs": { GET: page("docs.js") },
  "/redoc": { GET: page("redoc.js") },
  "/docs/swagger-ui.css": { GET: asset("swagger-ui.css", "text/css; charset=utf-8") },
  "/docs/swagger-ui-bundle.js": { GET: asset("swagger-ui-bundle.js", SCRIPT) },
  "/docs/docs.js": { GET: script({}) },
  // The same library as a page to read: everything unfolded, nothing to send.
  "/docs/redoc.js": { GET: script({ docExpansion: "full", supportedSubmitMethods: [] }) },
};

function openApi({ response, context }: Exchange): void {
  const { mode, definition } = context.runtime;
  const { name } = definition.contract;
  sendJson(response, 200, renderOpenApi({ mode, name, schemas: definition.contract.schemas() }));
}

/** The library puts styles and pictures into the page; scripts and data come from this server alone. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'";

function page(start: string): Handler {
  return ({ response, context }) => {
    const title = escapeHtml(context.runtime.definition.contract.name);
    response.setHeader("content-security-policy", POLICY);
    sendText(response, 200, { type: "text/html; charset=utf-8", text: renderPage(title, start) });
  };
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

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
