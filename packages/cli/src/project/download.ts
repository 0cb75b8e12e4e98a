import { ConfigError } from "openenv-ts/internal";
import { serverToken } from "../server-token.js";

const TIMEOUT_MS = 10_000;
/** Far above the schemas of any real environment. */
const MAX_BYTES = 8 * 1024 * 1024;

export function isUrl(source: string): boolean {
  return /^[a-z]+:\/\//i.test(source);
}

/**
 * What a server answers to `GET /schema` or `GET /metadata`, or to a POST of `body`; `source` is its base URL, or one of
 * its `/ws` or `/schema`.
 * @throws ConfigError when there is no such answer.
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
    throw new ConfigError(`No answer from ${url} (${reason}); check that the server runs.`);
  }
  if (response.status === 401) {
    throw new ConfigError(`${url} answered 401; set OPENENV_TOKEN to the server's token.`);
  }
  if (!response.ok) {
    throw new ConfigError(`${url} answered ${response.status}; give the base URL of an OpenEnv server.`);
  }
  if (text === undefined) throw new ConfigError(`${url} answered more than 8 MB; give the URL of an OpenEnv server.`);
  return text;
}

/** Undefined when it is too long. */
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
    throw new ConfigError(`${source} is no URL; write http://host:port.`);
  }
  if (!/^https?:$/.test(url.protocol))
    throw new ConfigError(`${source} is no URL of a server; write http://host:port.`);
  url.pathname = url.pathname.replace(/\/(ws|schema)?\/?$/, `/${route}`);
  return url;
}
