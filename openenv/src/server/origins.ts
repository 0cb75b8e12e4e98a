import { clip } from "../util/clip.js";

interface Headers {
  host?: string | undefined;
  origin?: string | undefined;
  "x-forwarded-host"?: string | string[] | undefined;
}

export interface Origins {
  /** Why a request with these headers is refused; undefined when it may go on. */
  objection(headers: Headers): string | undefined;
  /** Whether the request comes from a page of this server, or from no page at all. */
  isOwn(headers: Headers): boolean;
  /** The value of `access-control-allow-origin`; undefined for none. */
  corsOrigin(headers: Headers): string | undefined;
}

/**
 * Keeps foreign web pages out. A client that is no browser sends no Origin and is let in. On a loopback address the
 * Host header has to be a loopback name, so that a foreign name that resolves to it (DNS rebinding) gets nowhere.
 * `allowed` are origins as browsers write them, or `*`.
 */
export function createOrigins(boundHost: string, allowed: readonly string[]): Origins {
  const checkHost = isLoopback(boundHost);
  const allowAll = allowed.includes("*");
  const isAllowed = (origin: string): boolean => allowAll || allowed.includes(origin);
  // Nearly all requests name the same host; to look at it anew would cost each connection three regexes.
  let lastKnown: string | undefined;
  const isKnown = (host: string): boolean => {
    if (host === lastKnown) return true;
    if (!isLoopback(hostName(host)) && !allowed.some((known) => isAt(known, host))) return false;
    lastKnown = host;
    return true;
  };
  return {
    objection(headers) {
      const { host, origin } = headers;
      if (checkHost && !allowAll && host !== undefined && !isKnown(host)) {
        const name = clip(host, 100);
        return `the Host "${name}" is not a name of this machine; if it is yours, add http://${name} to ALLOWED_ORIGINS`;
      }
      if (origin === undefined || isAllowed(origin) || isSameOrigin(headers)) return undefined;
      return `the origin "${clip(origin, 100)}" is not allowed; if it is yours, add it to ALLOWED_ORIGINS`;
    },
    isOwn: isSameOrigin,
    corsOrigin: ({ origin }) => (origin !== undefined && isAllowed(origin) ? origin : undefined),
  };
}

/** True for 127.0.0.0/8, ::1, localhost and the names below it, which resolve to this machine by definition. */
export function isLoopback(host: string): boolean {
  const bare = host
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/^::ffff:/, "")
    .replace(/\.$/, "");
  return bare === "localhost" || bare.endsWith(".localhost") || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare);
}

/** The name in a Host header, without the port. */
export function hostName(host: string): string {
  return host.startsWith("[") ? host.slice(0, host.indexOf("]") + 1) : (host.split(":")[0] ?? "");
}

/**
 * A proxy that puts its own name into Host tells the one that was asked for in X-Forwarded-Host. It can be believed:
 * a page may not send it to a foreign origin without a preflight, which is refused.
 */
function isSameOrigin({ origin, host, "x-forwarded-host": forwarded }: Headers): boolean {
  if (origin === undefined) return true;
  const asked = String(forwarded ?? "").split(",")[0] ?? "";
  return isAt(origin, host ?? "") || isAt(origin, asked.trim());
}

/** Compares as URLs do: names without case, and a default port like none. */
function isAt(origin: string, host: string): boolean {
  if (host === "" || !URL.canParse(origin)) return false;
  const { protocol, host: own } = new URL(origin);
  const url = `${protocol}//${host}`;
  return URL.canParse(url) && new URL(url).host === own;
}
