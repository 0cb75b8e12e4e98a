interface Headers {
  host?: string | undefined;
  origin?: string | undefined;
}

export interface Origins {
  /** Why a request with these headers is refused; undefined when it may go on. */
  objection(headers: Headers): string | undefined;
  /** The value of `access-control-allow-origin`; undefined for none. */
  corsOrigin(headers: Headers): string | undefined;
}

/**
 * Keeps foreign web pages out. A client that is no browser sends no Origin and is let in. On a loopback address the
 * Host header has to be a loopback name, so that a foreign name that resolves to it (DNS rebinding) gets nowhere.
 */
export function createOrigins(boundHost: string, allowed: readonly string[]): Origins {
  const checkHost = isLoopback(boundHost);
  const allowAll = allowed.includes("*");
  const allowedHosts = new Set(allowed.flatMap((origin) => (URL.canParse(origin) ? [new URL(origin).host] : [])));
  const isAllowed = (origin: string): boolean => allowAll || allowed.includes(origin);
  return {
    objection({ host, origin }) {
      if (checkHost && !allowAll && host !== undefined && !isLoopback(hostName(host)) && !allowedHosts.has(host)) {
        return `the Host "${clip(host)}" is not a name of this machine`;
      }
      if (origin === undefined || isAllowed(origin) || isSameOrigin(origin, host)) return undefined;
      return `the origin "${clip(origin)}" is not allowed; add it to ALLOWED_ORIGINS`;
    },
    corsOrigin: ({ origin }) => (origin !== undefined && isAllowed(origin) ? origin : undefined),
  };
}

/** True for 127.0.0.0/8, ::1 and localhost. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "").replace(/^::ffff:/, "");
  return bare === "localhost" || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare);
}

/** The name in a Host header, without the port. */
export function hostName(host: string): string {
  return host.startsWith("[") ? host.slice(0, host.indexOf("]") + 1) : (host.split(":")[0] ?? "");
}

function isSameOrigin(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host;
}

function clip(text: string): string {
  return text.slice(0, 100);
}
