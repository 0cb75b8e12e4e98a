import { once } from "node:events";
import {
  request as askBackend,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ProviderError } from "openenv-ts";
import { httpUrl } from "./address.js";
import { waitAllReady } from "./lifecycle/ready.js";
import type { AcquiredServer, StartContext } from "./lifecycle/start-context.js";
import { createSessionOwners, nameOfNew, namesOf } from "./session-owners.js";

/** One of the servers behind the address. */
export interface BalancedServer {
  id: string;
  host: string;
  port: number;
  /** True while the server gets no requests because it was unreachable a moment ago. */
  isAway?(): boolean;
}

export interface Balancer {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  /**
   * Replaces the servers that take new requests. Open sockets of a removed server stay until the server closes them.
   */
  use(backends: readonly BalancedServer[]): void;
}

/**
 * Waits until each server has answered a reset, then balances across all of them.
 * @throws ProviderError when one of them ends before that.
 */
export async function balanceReady(
  start: StartContext,
  backends: readonly BalancedServer[],
  source: Required<Pick<AcquiredServer, "logs" | "ended">>,
): Promise<Balancer> {
  start.progress(`waiting for ${backends.length} servers to answer a reset`);
  const urls = backends.map(({ host, port }) => httpUrl(host, port));
  await waitAllReady(urls, source, start.signal);
  const balancer = await createBalancer(start);
  balancer.use(backends);
  return balancer;
}

/**
 * Puts one address on this machine in front of several servers, until the start is released. A socket stays with the
 * server that took it; a request that names a session goes to the server that opened it; everything else goes to the
 * one with the fewest sockets.
 * @throws ProviderError START_FAILED when the port is not available.
 */
export async function createBalancer(start: Pick<StartContext, "onCleanup">, port = 0): Promise<Balancer> {
  const owners = createSessionOwners();
  const sockets = new Map<string, number>();
  const open = new Set<Duplex>();
  let backends: readonly BalancedServer[] = [];
  let turn = 0;

  /** The servers to try, best first; for a named session, only its owner. */
  function choose(request: IncomingMessage, body?: string): BalancedServer[] {
    const owner = owners.find(namesOf(request, body));
    const present = backends.filter((backend) => !backend.isAway?.());
    if (backends.some(({ id }) => id === owner)) return present.filter(({ id }) => id === owner);
    turn++;
    const inTurn = present.map((_, index) => present[(index + turn) % present.length] as BalancedServer);
    return inTurn.sort((a, b) => (sockets.get(a.id) ?? 0) - (sockets.get(b.id) ?? 0));
  }

  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request).catch(() => undefined);
    if (body === undefined) return respond(response, 413, "the body is larger than 16 MiB");
    for (const backend of choose(request, body.toString("latin1"))) {
      if (await forward({ request, response, body }, backend, owners.remember)) return;
    }
    respond(response, 503, "no replica answers; try again");
  };
  const upgrade = async (request: IncomingMessage, client: Socket, head: Buffer): Promise<void> => {
    client.on("error", () => client.destroy());
    for (const backend of choose(request)) {
      // Counted before the socket opens, so that one burst does not go to a single server.
      count(sockets, backend.id, 1);
      const upstream = await dial(backend);
      if (!upstream || client.destroyed) {
        count(sockets, backend.id, -1);
        upstream?.destroy();
        continue;
      }
      upstream.once("close", () => count(sockets, backend.id, -1));
      join(client, upstream);
      for (const socket of [client, upstream]) {
        open.add(socket);
        socket.once("close", () => open.delete(socket));
      }
      upstream.write(renderHead(request));
      upstream.write(head);
      return;
    }
    client.end(renderRejection("503 Service Unavailable"));
  };
  // A malformed request must not crash the process that runs the balancer.
  const server = createServer((request, response) => {
    pass(request, response).catch(() => respond(response, 502, "the request cannot be forwarded"));
  });
  server.on("upgrade", (request: IncomingMessage, client: Socket, head: Buffer) => {
    upgrade(request, client, head).catch(() => client.end(renderRejection("502 Bad Gateway")));
  });
  server.unref();
  server.listen(port, "127.0.0.1");
  await once(server, "listening").catch((error: Error) => {
    const message = `Cannot listen on port ${port} of 127.0.0.1 (${error.message}). Omit \`port\` to use a free one.`;
    throw new ProviderError("START_FAILED", message, { cause: error });
  });
  start.onCleanup(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    for (const socket of open) socket.destroy();
    await closed;
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    use: (next) => {
      backends = [...next];
      owners.keep(next.map(({ id }) => id));
    },
  };
}

const MAX_BODY_BYTES = 16 * 1024 * 1024;
const DIAL_MS = 2_000;
/** Hop-by-hop headers: they describe one connection and are not forwarded. */
const HOP_BY_HOP = ["connection", "keep-alive", "transfer-encoding", "te", "trailer"] as const;

interface ProxiedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  body: Buffer;
}

/** Returns false when the server does not accept the connection, so that another one can be tried. */
function forward(
  exchange: ProxiedRequest,
  { id, host, port }: BalancedServer,
  remember: (name: string, id: string) => void,
) {
  const { request, response, body } = exchange;
  const { method, url, headers } = request;
  const onward: IncomingHttpHeaders = { ...headers, "content-length": String(body.length) };
  for (const name of HOP_BY_HOP) delete onward[name];
  return new Promise<boolean>((resolve) => {
    const ask = askBackend({ host, port, agent: false, method, path: url, headers: onward });
    let connected = false;
    ask.once("socket", (socket) => socket.once("connect", () => (connected = true)));
    ask.once("response", (answer) => {
      nameOfNew(request, answer, (name) => remember(name, id));
      try {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
      } catch {
        answer.destroy();
        respond(response, 502, "the response of the replica cannot be forwarded");
        return resolve(true);
      }
      response.flushHeaders();
      answer.pipe(response);
      answer.once("error", () => response.destroy());
      resolve(true);
    });
    ask.once("error", () => {
      if (connected && !response.headersSent)
        respond(response, 502, "the replica closed the connection before it answered");
      else if (connected) response.destroy();
      resolve(connected);
    });
    response.once("close", () => ask.destroy());
    ask.end(body);
  });
}

function dial({ host, port }: BalancedServer): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, noDelay: true });
    const give = (result: Socket | undefined): void => {
      clearTimeout(timer);
      if (!result) socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => give(undefined), DIAL_MS);
    socket.once("connect", () => give(socket));
    socket.on("error", () => give(undefined));
  });
}

function join(client: Socket, upstream: Socket): void {
  client.setNoDelay(true);
  client.pipe(upstream);
  upstream.pipe(client);
  client.once("close", () => upstream.destroy());
  upstream.once("close", () => client.destroy());
}

/** The request as received: the two ends do the handshake. */
function renderHead({ method, url, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function renderRejection(status: string): string {
  return `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new RangeError("too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function respond(response: ServerResponse, status: number, detail: string): void {
  if (response.headersSent) return;
  const body = JSON.stringify({ detail });
  const length = Buffer.byteLength(body);
  response.writeHead(status, { "content-type": "application/json", "content-length": length, connection: "close" });
  response.end(body);
}

function count(counts: Map<string, number>, id: string, change: number): void {
  const next = (counts.get(id) ?? 0) + change;
  if (next > 0) counts.set(id, next);
  else counts.delete(id);
}
