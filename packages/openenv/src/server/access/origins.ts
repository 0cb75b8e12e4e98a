import { isIP } from "node:net";
import { ConfigError } from "../../errors.js";
import { clip } from "../../util/text/clip.js";

interface Headers {
  host?: string | undefined;
  origin?: string | undefined;
  "x-forwarded-host"?: string | string[] | undefined;
}

export interface Origins {
  /** Why a request with these headers is refused; undefined when it may continue. */
  rejectionReason(headers: Headers): string | undefined;
  /** The same for a request that only reads, which any origin may send: it cannot see the answer. */
  hostRejectionReason(headers: Headers, always?: boolean): string | undefined;
  /** The value of `access-control-allow-origin`; undefined for none. */
  corsOrigin(headers: Headers): string | undefined;
}

/** What the server is set to let in. */
export interface OriginSettings {
  /** The address that it listens on. */
  host: string;
  /** As browsers write them, or `*`. */
  allowedOrigins: readonly string[];
  /** Names without a port, in lower case. */
  allowedHosts: readonly string[];
}

/**
 * Keeps foreign web pages out. A foreign name that resolves to this server (DNS rebinding) makes its page look like one of
 * the server's: so the Host has to be an IP address, a loopback name, or a name that is set. A client that is not a browser
 * sends no Origin, and may use any name unless the server listens on loopback only.
 */
export function createOrigins({ host: boundHost, allowedOrigins, allowedHosts }: OriginSettings): Origins {
  const checkAll = isLoopback(boundHost);
  const allowAll = allowedOrigins.includes("*");
  const isAllowed = (origin: string): boolean => allowAll || allowedOrigins.includes(origin);
  // Nearly all requests name the same host; to look at it anew would cost each connection several regexes.
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
   * A proxy that puts another name into Host sends the one that the browser asked for in X-Forwarded-Host. A page may not
   * send that to a foreign origin without a preflight, which is refused; one of a foreign name that resolves to the proxy may.
   */
  const isSameOrigin = ({ origin = "", host = "", "x-forwarded-host": forwarded }: Headers): boolean => {
    const asked = (String(forwarded ?? "").split(",")[0] ?? "").trim();
    return isAt(origin, host) || (isAt(origin, asked) && isKnown(asked));
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

/** Origins as browsers write them. @throws ConfigError */
export function parseOrigins(names: readonly string[]): string[] {
  return names.flatMap((given) => {
    const name = String(given).trim();
    if (name === "*" || name === "") return name || [];
    const url = URL.canParse(name) ? new URL(name) : undefined;
    // As browsers write it; `origin` would be "null" for the pages of a browser's extension.
    if (url !== undefined && url.host !== "") return `${url.protocol}//${url.host}`;
    throw new ConfigError(`ALLOWED_ORIGINS needs origins such as https://example.org, not "${name}".`);
  });
}

/** Host names in lower case. @throws ConfigError that names the setting. */
export function parseHosts(setting: string, names: readonly string[]): string[] {
  return names.flatMap((given) => {
    const name = bareName(String(given).trim());
    if (name === "" || HOST_NAME.test(name)) return name || [];
    throw new ConfigError(`${setting} must be host names without a port, such as env.example.org, not "${name}".`);
  });
}

const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/;

/** True for 127.0.0.0/8, ::1, localhost and the names below it, which resolve to this machine by definition. */
export function isLoopback(host: string): boolean {
  const bare = bareName(host).replace(/^::ffff:/, "");
  return bare === "localhost" || bare.endsWith(".localhost") || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare);
}

/** The name in a Host header, without the port. */
function hostName(host: string): string {
  return host.startsWith("[") ? host.slice(0, host.indexOf("]") + 1) : (host.split(":")[0] ?? "");
}

/** In lower case, without the brackets of an IPv6 address and the dot at the end. */
function bareName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
}

/** Compares as URLs do: names without case, and a default port like none. */
function isAt(origin: string, host: string): boolean {
  if (host === "" || !URL.canParse(origin)) return false;
  const { protocol, host: own } = new URL(origin);
  const url = `${protocol}//${host}`;
  return URL.canParse(url) && new URL(url).host === own;
}
