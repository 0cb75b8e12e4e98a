import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIP } from "node:net";
import { toLoadFailure } from "./failure.js";
import { connectSocket, readTarget } from "./raw-session.js";

const PATIENCE_MS = 10_000;

/** Where a server is: what its host name means, and whether that is this machine. */
export interface ServerLocation {
  url: string;
  address: string;
  port: number;
  local: boolean;
  /** Sent to it with every request; undefined for none. */
  token: string | undefined;
}

/**
 * Looks the host up once and takes the first of its addresses that accepts a connection.
 * @throws LoadFailure when none does, ConnectionError for what is no URL of a server.
 */
export async function locateServer(url: string, token?: string): Promise<ServerLocation> {
  const { hostname, port } = readTarget(url);
  let refused: unknown;
  for (const address of await addressesOf(hostname)) {
    const socket = connectSocket(readTarget(url, address));
    try {
      await once(socket, "connect", { signal: AbortSignal.timeout(PATIENCE_MS) });
      return { url, address, port, local: /^127\.|^::1$/.test(address), token };
    } catch (error) {
      refused ??= error;
    } finally {
      socket.on("error", () => {}).destroy();
    }
  }
  throw toLoadFailure(refused);
}

/** IPv4 first: only there a machine has many addresses of its own to connect from. */
async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host)) return [host];
  try {
    const found = await lookup(host, { all: true });
    return found.toSorted((a, b) => a.family - b.family).map(({ address }) => address);
  } catch (error) {
    throw toLoadFailure(error);
  }
}
