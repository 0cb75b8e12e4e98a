import type { HttpResponse } from "#parts/sockets";

/** Only resources of this server, and pictures and sounds in data URLs. No eval, no inline script or style. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
/** The Hub shows the page of a Space in a frame. */
const HUB = "https://huggingface.co";

/** The directive that prevents clickjacking: other sites may not show the page in a frame. */
export function frameAncestors(spaceId: string | null): string {
  return `frame-ancestors 'self'${spaceId === null ? "" : ` ${HUB}`}`;
}

/** Headers of all answers below `/web/`. */
export function secureHeaders(response: HttpResponse, spaceId: string | null): void {
  response.setHeader("content-security-policy", `${POLICY}; ${frameAncestors(spaceId)}`);
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  response.setHeader("permissions-policy", "camera=(), geolocation=(), microphone=()");
}
