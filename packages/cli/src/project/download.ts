import { ConfigError } from "openenv-ts/internal";
import { serverToken } from "../server-token.js";

const TIMEOUT_MS = 10_000;
/** Far more than the schemas of a real environment. */
const MAX_BYTES = 8 * 1024 * 1024;

export function isUrl(source: string): boolean {
  return /^[a-z]+:\/\//i.test(source);
}

/**
 * Returns the response of a server to `GET /schema` or `GET /metadata`, or to a POST of `body`. `source` is the base URL
 * of the server, or the URL of its `/ws` or `/schema`.
 * @throws ConfigError when the request fails.
 */
export async function download(source: string, route: "schema" | "metadata" | "mcp", body?: object): Promise<string> {
  const url = routeUrl(source, route);
  const token = serverToken();
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const post = body && { method: "POST", body: JSON.stringify(body) };
  if (post) headers["content-type"] = "application/json";
  let response: Response;
  let text: string | undefined;
  try {
    response = await fetch(url, { ...post, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    text = response.ok ? await readText(response) : "";
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new ConfigError(`Request to ${url} failed (${reason}); check that the server is running.`);
  }
  if (response.status === 401) {
    throw new ConfigError(`${url} answered 401; set OPENENV_TOKEN to the server's token.`);
  }
  if (!response.ok) {
    throw new ConfigError(`${url} answered ${response.status}; pass the base URL of an OpenEnv server.`);
  }
  if (text === undefined)
    throw new ConfigError(`The response of ${url} is larger than 8 MB; pass the URL of an OpenEnv server.`);
  return text;
}

/** Returns undefined when the body is too large. */
async function readText(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function routeUrl(source: string, route: string): URL {
  let url: URL;
  try {
    url = new URL(source.replace(/^ws/i, "http"));
  } catch {
    throw new ConfigError(`${source} is not a valid URL; use http://host:port.`);
  }
  if (!/^https?:$/.test(url.protocol))
    throw new ConfigError(`${source} is not the URL of a server; use http://host:port.`);
  url.pathname = url.pathname.replace(/\/(ws|schema)?\/?$/, `/${route}`);
  return url;
}
