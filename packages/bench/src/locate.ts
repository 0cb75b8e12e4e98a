import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIP } from "node:net";
import { LoadFailure, toLoadFailure } from "./failure.js";
import { connectSocket, readTarget } from "./raw-session.js";

const PATIENCE_MS = 10_000;

/** The location of a server: its resolved address, and whether it is this machine. */
export interface ServerLocation {
  url: string;
  address: string;
  port: number;
  local: boolean;
  /** Client token, sent with every request; undefined for none. */
  token: string | undefined;
}

/**
 * Where a server of this machine will listen.
 * @throws LoadFailure for a URL of another machine, ConnectionError for an invalid one.
 */
export async function locateFutureServer(url: string, token?: string): Promise<ServerLocation> {
  const { hostname, port } = readTarget(url);
  const [address] = await addressesOf(hostname);
  if (!isLoopback(address)) throw new LoadFailure("NOT_LOCAL", `${url} is not an address of this machine's loopback`);
  return { url, address, port, local: true, token };
}

/**
 * Resolves the host once and uses the first address that accepts a connection.
 * @throws LoadFailure when none does, ConnectionError for an invalid URL.
 */
export async function locateServer(url: string, token?: string): Promise<ServerLocation> {
  const { hostname, port } = readTarget(url);
  let refused: unknown;
  for (const address of await addressesOf(hostname)) {
    const socket = connectSocket(readTarget(url, address));
    try {
      await once(socket, "connect", { signal: AbortSignal.timeout(PATIENCE_MS) });
      return { url, address, port, local: isLoopback(address), token };
    } catch (error) {
      refused ??= error;
    } finally {
      socket.on("error", () => {}).destroy();
    }
  }
  throw toLoadFailure(refused);
}

function isLoopback(address: string | undefined): address is string {
  return address !== undefined && /^127\.|^::1$/.test(address);
}

/** IPv4 first: only IPv4 has many loopback addresses to connect from. */
async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host)) return [host];
  try {
    const found = await lookup(host, { all: true });
    return found.toSorted((a, b) => a.family - b.family).map(({ address }) => address);
  } catch (error) {
    throw toLoadFailure(error);
  }
}
