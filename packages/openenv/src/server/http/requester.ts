import { clientAddress, type HttpRequest } from "#parts/sockets";
import type { Principal } from "../../session/attachable-session.js";
import type { Requester } from "../access/audit.js";

const SESSION_PATH = /^\/sessions\/(?!pause$|resume$)([^/]+)/;

interface PeerOfRequest {
  request: HttpRequest;
  path: string;
  principal?: Principal | undefined;
}

/** The id of a session gives access to it, so it is not part of the path. */
export function requesterOf({ request, path, principal }: PeerOfRequest): Requester {
  const { headers, method } = request;
  const session = SESSION_PATH.exec(path)?.[1];
  const shown = session === undefined ? path : path.replace(session, "{id}");
  return {
    client: clientAddress(request),
    headers,
    request: `${method} ${shown}`,
    session,
    principal: principal?.name,
  };
}
