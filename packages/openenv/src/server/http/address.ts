import { createHash } from "node:crypto";
import type { ErrorData } from "../../protocol/messages.js";
import type { Session } from "../../session/session.js";

const PREFIX = "/session/";
const NAME = /^[A-Za-z0-9_-]{16,128}$/;
/** What an address has: the paths of one session, those that describe the server, and the Task API. */
const PATHS =
  /^\/(ws|mcp|reset|step|state|health|schema|metadata|list_environments|[^/]+\/(splits|tasks?|num_tasks|task_range))\/*$/;

/** A path below `/session/<name>`, which belongs to one session. */
export interface AddressedPath {
  /** SHA-256 of the name, hexadecimal. The name opens the session, so it is neither kept nor logged. */
  address: string;
  /** The path without the address. */
  path: string;
}

/** A request below `/session/<name>`. */
export interface AddressedRequest {
  /** SHA-256 of the name. */
  readonly hash: string;
  /** The session, once a valid request has claimed it. */
  session?: Session | undefined;
}

/** Undefined for a path that is not below `/session/`; an error for a name that is not valid, or an unknown path. */
export function parseAddress(path: string): AddressedPath | ErrorData | undefined {
  if (!path.startsWith(PREFIX)) return undefined;
  const end = path.indexOf("/", PREFIX.length);
  const name = path.slice(PREFIX.length, end < 0 ? undefined : end);
  const rest = end < 0 ? "/" : path.slice(end);
  if (!NAME.test(name)) {
    const example = `${PREFIX}run-7_worker-3_5f1c9a${rest === "/" ? "" : rest}`;
    const message = `The name of a session has 16 to 128 characters of A-Z, a-z, 0-9, _ and -, for example ${example}`;
    return { code: "SESSION_ERROR", message };
  }
  if (!PATHS.test(rest)) return { code: "SESSION_ERROR", message: `A session has no path ${rest.slice(0, 100)}` };
  return { address: createHash("sha256").update(name).digest("hex"), path: rest };
}
