import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { NAME_HEADER } from "../../protocol/http.js";
import { type ErrorData, errorData } from "../../protocol/messages.js";
import type { Session } from "../../session/session.js";
import { clip } from "../../util/text/clip.js";

const PREFIX = "/session/";
const RETRY = "/retry/";
const NAME = /^[A-Za-z0-9_-]{16,128}$/;
const RULE = "16 to 128 characters of A-Z, a-z, 0-9, _ and -";
const EXAMPLE = "run-7_worker-3_5f1c9a";
/** What an address has: the paths of one session, those that describe the server, and the Task API. */
const PATHS =
  /^\/(ws|mcp|reset|step|state|health|schema|metadata|list_environments|[^/]+\/(splits|tasks?|num_tasks|task_range))\/*$/;
/** The paths on which a header may name the session. */
const NAMED_PATHS = /^\/(ws|mcp|reset|step|state)\/*$/;

/** A path of one session: below `/session/<name>`, or of a request whose header names it. */
export interface AddressedPath {
  /** SHA-256 of the name, hexadecimal. The name opens the session, so it is neither kept nor logged. */
  address: string;
  /** The path without the address. */
  path: string;
  /** The path begins with `/session/<name>/retry`: a step that is equal to an unanswered one gets its answer. */
  retry?: boolean;
}

/** A request that names its session by an address. */
export interface AddressedRequest {
  /** SHA-256 of the name. */
  readonly hash: string;
  readonly retry: boolean;
  /** The session, once a valid request has attached it. */
  session?: Session | undefined;
}

/** Why a request names no session although it tries to. */
export interface AddressProblem {
  readonly status: 400 | 404;
  readonly data: ErrorData;
}

/**
 * The session that a request names, by its path or by the header {@link NAME_HEADER}. Undefined for a request that names
 * none; a problem for a name that is not valid, or an unknown path below `/session/`.
 */
export function findAddress(path: string, headers: IncomingHttpHeaders): AddressedPath | AddressProblem | undefined {
  if (path.startsWith(PREFIX)) return parseAddress(path);
  const name = headers[NAME_HEADER];
  if (name === undefined || !NAMED_PATHS.test(decodePath(path))) return undefined;
  if (typeof name === "string" && NAME.test(name)) return { address: hashName(name), path };
  return problem(400, `The header X-OpenEnv-Session-Id needs ${RULE}, for example X-OpenEnv-Session-Id: ${EXAMPLE}`);
}

export function isSessionPath(found: AddressedPath | AddressProblem | undefined): found is AddressedPath {
  return found !== undefined && "address" in found;
}

/** The path as it is if it cannot be decoded. */
export function decodePath(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function parseAddress(path: string): AddressedPath | AddressProblem {
  const end = path.indexOf("/", PREFIX.length);
  const name = path.slice(PREFIX.length, end < 0 ? undefined : end);
  const below = end < 0 ? "/" : path.slice(end);
  const retry = below.startsWith(RETRY);
  const rest = retry ? below.slice(RETRY.length - 1) : below;
  if (!NAME.test(name)) {
    const example = `${PREFIX}${EXAMPLE}${rest === "/" ? "" : rest}`;
    return problem(404, `The name of a session has ${RULE}, for example ${example}`);
  }
  if (!PATHS.test(rest)) return problem(404, `A session has no path ${clip(rest, 100)}`);
  return { address: hashName(name), path: rest, retry };
}

function hashName(name: string): string {
  return createHash("sha256").update(name).digest("hex");
}

function problem(status: 400 | 404, message: string): AddressProblem {
  return { status, data: errorData("SESSION_ERROR", message, { fault: "client" }) };
}
