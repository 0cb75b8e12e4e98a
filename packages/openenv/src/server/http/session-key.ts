import type { IncomingHttpHeaders } from "node:http";
import { NO_SESSION, SESSION_HEADER, sessionCookie } from "../../protocol/http.js";
import type { SessionKey } from "../../session/registry/directory.js";
import { isObject } from "../../util/is-object.js";
import { readCookie } from "../access/read-cookie.js";
import type { AddressedRequest } from "./address.js";

/** A request, as far as it names a session. */
interface KeyedRequest {
  readonly request: { readonly headers: IncomingHttpHeaders };
  readonly address?: AddressedRequest | undefined;
}

/** The id by which a request names its session. */
export interface NamedId {
  readonly id: string;
  /** Named by a header or an address. A cookie may be left from an earlier session. */
  readonly explicit: boolean;
}

/** The name of a request's session: its address, or an id in a header or a cookie. */
export function readKey(request: KeyedRequest): SessionKey {
  return { id: readId(request)?.id, address: request.address?.hash };
}

/** The name of an MCP client's session, which may also be in the header of MCP. */
export function readMcpKey(request: KeyedRequest): SessionKey {
  const id = request.request.headers["mcp-session-id"];
  return typeof id === "string" ? { id, address: request.address?.hash } : readKey(request);
}

/** The name of a JSON-RPC request's session, which is in its parameters. */
export function readRpcKey(value: unknown, address?: AddressedRequest): SessionKey {
  const params = isObject(value) ? value["params"] : undefined;
  const id = isObject(params) ? params["session_id"] : undefined;
  return { id: typeof id === "string" && id !== "" ? id : undefined, address: address?.hash };
}

/** The id that a request names. That of an address is known once the request has attached it. */
export function readId({ request: { headers }, address }: KeyedRequest): NamedId | undefined {
  if (address !== undefined) return address.session && { id: address.session.id, explicit: true };
  const header = headerId(headers);
  if (header !== undefined) return { id: header, explicit: true };
  if (headers[SESSION_HEADER] === NO_SESSION) return undefined;
  const id = cookieId(headers);
  return id === undefined ? undefined : { id, explicit: false };
}

export function headerId(headers: IncomingHttpHeaders): string | undefined {
  const header = headers[SESSION_HEADER];
  return typeof header === "string" && header !== "" && header !== NO_SESSION ? header : undefined;
}

/** The id that a browser names. */
export function cookieId(headers: IncomingHttpHeaders): string | undefined {
  return readCookie(headers, sessionCookie(headers.host));
}
