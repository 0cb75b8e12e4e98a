import type { IncomingMessage } from "node:http";
import { isObject } from "openenv-ts/internal";
import { NO_SESSION, SESSION_HEADER } from "openenv-ts/protocol";

/** Maps sessions that are not bound to a socket (HTTP, MCP) to the server that opened them. */
export interface SessionOwners {
  remember(name: string, owner: string): void;
  /** The owner of the first known name. */
  find(names: readonly string[]): string | undefined;
  /** Forgets the sessions of all other owners. */
  keep(owners: readonly string[]): void;
}

/** The least recently used session is forgotten first. */
const MAX_SESSIONS = 100_000;

export function createSessionOwners(): SessionOwners {
  const owners = new Map<string, string>();
  const remember = (name: string, owner: string): void => {
    owners.delete(name);
    owners.set(name, owner);
    const oldest = owners.size > MAX_SESSIONS ? owners.keys().next() : undefined;
    if (oldest && !oldest.done) owners.delete(oldest.value);
  };
  return {
    remember,
    find(names) {
      const name = names.find((each) => owners.has(each));
      const owner = name === undefined ? undefined : owners.get(name);
      if (name !== undefined && owner !== undefined) remember(name, owner);
      return owner;
    },
    keep(kept) {
      for (const [name, owner] of owners) if (!kept.includes(owner)) owners.delete(name);
    },
  };
}

const MCP_SESSION_HEADER = "mcp-session-id";
const HEADERS = [SESSION_HEADER, MCP_SESSION_HEADER];

/** All strings of a request that may name a session: a header, a cookie, the query, or a JSON-RPC parameter. */
export function namesOf({ headers, url = "" }: IncomingMessage, body = ""): string[] {
  const names = HEADERS.flatMap((header) => headers[header] ?? []);
  // Over HTTP the value "none" means no session, whatever the cookie says.
  if (names.includes(NO_SESSION)) return [];
  const query = url.includes("session_id=") ? new URL(url, "http://localhost").searchParams.get("session_id") : null;
  if (query) names.push(query);
  for (const cookie of (headers.cookie ?? "").split(";")) names.push(cookie.slice(cookie.indexOf("=") + 1).trim());
  const inBody = body.includes('"session_id"') ? /"session_id"\s*:\s*"([^"\\]+)"/.exec(body)?.[1] : undefined;
  if (inBody) names.push(inBody);
  return names.filter(Boolean);
}

/** The JSON-RPC response that opens a session is one line. */
const MAX_BODY_CHARACTERS = 16 * 1024;

/** Calls back with the name of the session that a response opened or continued, if any. */
export function nameOfNew(request: IncomingMessage, answer: IncomingMessage, onName: (name: string) => void): void {
  for (const header of HEADERS) {
    const name = answer.headers[header];
    if (typeof name === "string" && name !== NO_SESSION) onName(name);
  }
  if (request.method !== "POST" || !request.url?.startsWith("/mcp")) return;
  let text = "";
  const collect = (chunk: Buffer): void => {
    text += chunk.toString("latin1");
    if (text.length > MAX_BODY_CHARACTERS) answer.off("data", collect);
  };
  answer.on("data", collect);
  answer.prependListener("end", () => {
    const name = text.includes('"session_id"') ? readSessionId(text) : undefined;
    if (name) onName(name);
  });
}

function readSessionId(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    const result = isObject(body) ? body["result"] : undefined;
    const id = isObject(result) ? result["session_id"] : undefined;
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined;
  }
}
