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

/** The directive of a policy that keeps other sites from showing a page in a frame and having its buttons clicked. */
export function frameAncestors(spaceId: string | null): string {
  return `frame-ancestors 'self'${spaceId === null ? "" : ` ${HUB}`}`;
}

/** Headers of all answers below `/web/`. */
export function secureHeaders(response: ServerResponse, spaceId: string | null): void {
  response.setHeader("content-security-policy", `${POLICY}; ${frameAncestors(spaceId)}`);
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  response.setHeader("permissions-policy", "camera=(), geolocation=(), microphone=()");
}
