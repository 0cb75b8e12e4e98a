import { sendText } from "../../http/respond.js";
import type { RequestContext } from "../../http/router.js";
import { frameAncestors } from "./headers.js";

const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

/** Sends a form for the client's token in place of a page, which a browser opens without one. */
export function sendTokenPage({ request, response, context }: RequestContext): boolean {
  if (request.method !== "GET" || !request.headers.accept?.includes("text/html")) return false;
  const ancestors = frameAncestors(context.web?.spaceId ?? null);
  response.setHeader("content-security-policy", `${POLICY}; ${ancestors}`);
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("cache-control", "no-store");
  sendText(response, 401, { type: "text/html; charset=utf-8", text: PAGE });
  return true;
}

export function tokenScript({ response }: RequestContext): void {
  sendText(response, 200, { type: "text/javascript; charset=utf-8", text: SCRIPT });
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Token needed</title>
</head>
<body>
<h1>This server requires a token</h1>
<p>Paste the value of <code>OPENENV_CLIENT_TOKEN</code>, with which the server was started.</p>
<form>
<label>Token <input type="password" autocomplete="off" autofocus></label>
<button>Open</button>
</form>
<p role="alert"></p>
<script src="docs/token.js"></script>
</body>
</html>
`;

/** The answer to a request with the token sets the cookie that opens the page. */
const SCRIPT = `const probe = new URL("../openapi.json", document.currentScript.src);
async function open(token) {
  const answer = await fetch(probe, { headers: { authorization: "Bearer " + token } }).catch(() => undefined);
  if (answer?.ok) location.reload();
  else document.querySelector("[role=alert]").textContent = "The server rejected this token.";
}
document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  void open(document.querySelector("input").value.trim());
});
const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  history.replaceState(null, "", location.pathname + location.search);
  void open(token);
}
`;
