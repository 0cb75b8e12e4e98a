import { isIP } from "node:net";
import { clip } from "../../util/text/clip.js";
import { bareName } from "../config/hosts.js";

interface Headers {
  host?: string | undefined;
  origin?: string | undefined;
  "x-forwarded-host"?: string | string[] | undefined;
}

export interface Origins {
  /** Why a request with these headers is rejected; undefined when it is allowed. */
  rejectionReason(headers: Headers): string | undefined;
  /** The same for a request that only reads. Any origin may send it: a foreign page cannot read the answer. */
  hostRejectionReason(headers: Headers, always?: boolean): string | undefined;
  /** The value of `access-control-allow-origin`; undefined to omit the header. */
  corsOrigin(headers: Headers): string | undefined;
}

/** The settings for allowed hosts and origins. */
export interface OriginSettings {
  /** The address that it listens on. */
  host: string;
  /** Origins in the form that browsers send, or `*`. */
  allowedOrigins: readonly string[];
  /** Names without a port, in lower case. */
  allowedHosts: readonly string[];
}

/**
 * Rejects requests of foreign web pages. With DNS rebinding a foreign name resolves to this server and its page appears
 * to be same-origin, so the Host must be an IP address, a loopback name or a configured name. A client that is not a
 * browser sends no Origin and may use any name, unless the server listens on loopback only.
 */
export function createOrigins({ host: boundHost, allowedOrigins, allowedHosts }: OriginSettings): Origins {
  const checkAll = isLoopback(boundHost);
  const allowAll = allowedOrigins.includes("*");
  const isAllowed = (origin: string): boolean => allowAll || allowedOrigins.includes(origin);
  // Nearly all requests have the same Host: caching it saves several regexes for each connection.
  let lastKnown: string | undefined;
  const isKnown = (host: string): boolean => {
    if (host === lastKnown) return true;
    const name = hostName(host);
    const isSafe = isLoopback(name) || isIP(bareName(name)) !== 0 || allowedHosts.includes(bareName(name));
    if (!isSafe && !allowedOrigins.some((known) => isAt(known, host))) return false;
    lastKnown = host;
    return true;
  };
  const hostObjection: Origins["hostRejectionReason"] = ({ host, origin }, always = checkAll) => {
    if (allowAll || host === undefined || !(always || origin !== undefined)) return undefined;
    if ((origin !== undefined && isAllowed(origin)) || isKnown(host)) return undefined;
    const name = clip(hostName(host), 100);
    return `the Host "${clip(host, 100)}" is not a name of this server; if it is yours, add ${name} to ALLOWED_HOSTS`;
  };
  /**
   * A proxy that changes Host sends the name that the browser requested in X-Forwarded-Host. A page cannot send this
   * header to a foreign origin without a preflight, which is rejected; a page whose name resolves to the proxy can.
   */
  const isSameOrigin = ({ origin = "", host = "", "x-forwarded-host": forwarded }: Headers): boolean => {
    const requested = (String(forwarded ?? "").split(",")[0] ?? "").trim();
    return isAt(origin, host) || (isAt(origin, requested) && isKnown(requested));
  };
  return {
    hostRejectionReason: hostObjection,
    rejectionReason(headers) {
      const objection = hostObjection(headers);
      const { origin } = headers;
      if (objection !== undefined || origin === undefined) return objection;
      if (isAllowed(origin) || isSameOrigin(headers)) return undefined;
      return `the origin "${clip(origin, 100)}" is not allowed; if it is yours, add it to ALLOWED_ORIGINS`;
    },
    corsOrigin: ({ origin }) => (origin !== undefined && isAllowed(origin) ? origin : undefined),
  };
}

/** True for 127.0.0.0/8, ::1, localhost and its subdomains, which always resolve to this machine. */
export function isLoopback(host: string): boolean {
  const bare = bareName(host).replace(/^::ffff:/, "");
  return bare === "localhost" || bare.endsWith(".localhost") || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare);
}

/** The name in a Host header, without the port. */
function hostName(host: string): string {
  return host.startsWith("[") ? host.slice(0, host.indexOf("]") + 1) : (host.split(":")[0] ?? "");
}

/** Compares like URLs: names without case, and the default port equal to no port. */
function isAt(origin: string, host: string): boolean {
  if (host === "" || !URL.canParse(origin)) return false;
  const { protocol, host: own } = new URL(origin);
  const url = `${protocol}//${host}`;
  return URL.canParse(url) && new URL(url).host === own;
}
