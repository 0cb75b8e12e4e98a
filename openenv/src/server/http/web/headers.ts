import type { ServerResponse } from "node:http";

/** Nothing but what this server sends; pictures may also be in the data. No eval, no inline script or style. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
/** A Space shows its page inside of one of the hub. */
const HUB = "https://huggingface.co";

/** Headers of all answers below `/web/`. */
export function secureHeaders(response: ServerResponse, spaceId: string | null): void {
  const ancestors = spaceId === null ? "'self'" : `'self' ${HUB}`;
  response.setHeader("content-security-policy", `${POLICY}; frame-ancestors ${ancestors}`);
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  response.setHeader("permissions-policy", "camera=(), geolocation=(), microphone=()");
}
