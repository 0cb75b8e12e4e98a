import type { Upgrade, UpgradeRequest } from "#parts/sockets";
import { EXTENSIONS, EXTENSIONS_KEY, type Extension } from "../../protocol/messages.js";
import { VIEW_KEY } from "../../protocol/web.js";
import type { Principal } from "../../session/attachable-session.js";
import { type AddressProblem, findAddress, isSessionPath } from "../http/address.js";
import type { SocketProtocol } from "./protocol.js";

/** Extensions that a session by address does not have: its name leads to it, and it stores no answer before its event. */
const OF_A_SERVER: readonly Extension[] = ["batch", "resume", "move", "cancel"];

/** Handles the WebSockets of another path, which do not have the frames of a session. */
export interface SocketRoute {
  readonly path: string;
  /** The id of the session that a request names; another server of the cluster may hold it. */
  sessionId(request: UpgradeRequest): string | null;
  upgrade(upgrade: Upgrade, principal: Principal | undefined): void;
  readonly open: number;
  drain(): void;
  terminate(): void;
}

/** What a request for a WebSocket asks for. */
export interface Target {
  handler: SocketProtocol | SocketRoute;
  /** The session that the query names. */
  sessionId: string | null;
  extensions: readonly Extension[];
  /** The hash of the name in the path or the header. */
  address?: string;
  /** The path opts in to the answer of an equal step. */
  retry?: boolean | undefined;
  /** The peer, if a plugin has recognised it. */
  principal?: Principal | undefined;
}

/** The paths of a server, and who handles each. */
export interface SocketPaths {
  readonly protocols: Readonly<Record<string, SocketProtocol>>;
  readonly mounted: readonly SocketRoute[];
}

/** Undefined for a path without a WebSocket, a problem for a name that is not valid. */
export function findTarget(
  request: UpgradeRequest,
  { protocols, mounted }: SocketPaths,
): Target | AddressProblem | undefined {
  const { url = "/", headers } = request;
  const path = url.split("?", 1)[0] as string;
  const addressed = findAddress(path, headers);
  if (addressed !== undefined) {
    if (!isSessionPath(addressed)) return addressed;
    const below = parseTarget(addressed.path + url.slice(path.length), protocols);
    const extensions = below?.extensions.filter((name) => !OF_A_SERVER.includes(name)) ?? [];
    return below && { ...below, extensions, address: addressed.address, retry: addressed.retry };
  }
  const target = parseTarget(url, protocols);
  if (target !== undefined) return target;
  const route = mounted.find((one) => url === one.path || url.startsWith(`${one.path}?`));
  return route && { handler: route, sessionId: route.sessionId(request), extensions: [] };
}

export function isTarget(found: Target | AddressProblem | undefined): found is Target {
  return found !== undefined && "handler" in found;
}

function parseTarget(url: string, protocols: SocketPaths["protocols"]): Target | undefined {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const protocol = Object.hasOwn(protocols, path) ? protocols[path] : undefined;
  if (protocol === undefined) return undefined;
  if (mark < 0) return { handler: protocol, sessionId: null, extensions: [] };
  const query = new URLSearchParams(url.slice(mark));
  const extensions = path === "/ws" ? requestedExtensions(query) : [];
  // An empty id counts as absent, as in the Python package; only /ws attaches to a session.
  const sessionId = path === "/ws" ? query.get("session_id") || null : null;
  return { handler: protocol, sessionId, extensions };
}

function requestedExtensions(query: URLSearchParams): Extension[] {
  const requested = (query.get(EXTENSIONS_KEY) ?? "").split(",");
  const extensions: Extension[] = EXTENSIONS.filter((name) => requested.includes(name));
  return query.get(VIEW_KEY) === "1" ? [...extensions, "view"] : extensions;
}
