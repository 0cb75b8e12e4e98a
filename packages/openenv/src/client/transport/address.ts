import { ConnectionError } from "../../errors.js";

/** The address of a server: a base URL, from which every route derives. */
export interface ServerAddress {
  /** `http://host:port/prefix`: no trailing slash, no query. */
  readonly base: string;
  /** The URL of a route; `path` starts with a slash. The query the caller gave is kept. */
  http(path: string): string;
  /** The URL of `/ws` with the caller's query and these keys. */
  socket(query: Record<string, string>): string;
}

/**
 * Parses the URL of a server: http, https, ws, wss or a bare host,
 * with or without a path prefix, a trailing slash, a trailing `/ws` and a query.
 * @throws ConnectionError CONNECTION_FAILED when it is not such a URL.
 */
export function parseAddress(text: string | URL): ServerAddress {
  const url = parseUrl(String(text));
  const secure = url.protocol === "https:" || url.protocol === "wss:";
  const host = url.host + url.pathname.replace(/\/+$/, "").replace(/\/ws$/, "");
  const base = `${secure ? "https" : "http"}://${host}`;
  return {
    base,
    http: (path) => base + path + (path.includes("?") ? url.search.replace("?", "&") : url.search),
    socket: (query) => {
      const keys = new URLSearchParams(url.search);
      for (const [name, value] of Object.entries(query)) keys.set(name, value);
      const search = keys.toString();
      return `${secure ? "wss" : "ws"}://${host}/ws${search && `?${search}`}`;
    },
  };
}

function parseUrl(text: string): URL {
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `ws://${text}`;
  // A slash is missing in `http:/a`: `http` is not its host.
  const isBroken = /^[a-z][a-z0-9+.-]*:(\/(?!\/)|$)/i.test(text);
  const url = !isBroken && URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (!url?.host || !["http:", "https:", "ws:", "wss:"].includes(url.protocol)) {
    throw new ConnectionError(
      "CONNECTION_FAILED",
      `"${text}" is not the URL of a server: write http://host:port, https://…, ws://… or host:port.`,
    );
  }
  if (url.username || url.password) {
    throw new ConnectionError(
      "CONNECTION_FAILED",
      "A URL must not contain a user name or password: pass them with `headers` or `token`.",
    );
  }
  return url;
}
