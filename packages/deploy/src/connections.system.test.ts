import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { MANY, stepHttp, TALLY } from "../../../test-support/deploy/balanced-sessions.js";
import { BALANCERS, startBalancer } from "../../../test-support/deploy/balancers.js";
import { useMcp } from "../../../test-support/environments/mcp.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

const { start } = useMcp();

/** Sets every timeout to six seconds except those of sessions, which stay as rendered. */
const SHORTEN = {
  haproxy: (text) => text.replaceAll(/timeout (http-request|client|server) \w+/g, "timeout $1 6s"),
  // An idle connection is drained before it is closed.
  envoy: (text) =>
    text
      .replace("idle_timeout: 900s", "idle_timeout: 6s")
      .replace(/(request_headers_timeout|drain_timeout): \d+s/g, "$1: 6s"),
} as const satisfies Record<keyof typeof BALANCERS, (text: string) => string>;

for (const [name, { require }] of Object.entries(BALANCERS)) {
  const kind = name as keyof typeof BALANCERS;
  const component = await require();

  describe.skipIf(!component.available)(`through ${kind}`, { timeout: 60_000 }, () => {
    test("no request uses a connection that its server may be closing", async () => {
      await using server = await startForgetfulServer();
      await using balancer = await startBalancer(kind, component.path, { backends: [server.address] });
      for (let count = 0; count < 4; count++) {
        expect(await stepHttp(balancer.url, {})).toEqual({ status: 200, body: {} });
      }
    });

    test("only the handshake of a new session is retried when a server closes the connection without an answer", async () => {
      await using dying = await startDyingServer();
      const { server } = await start();
      const backends = [dying.address, `127.0.0.1:${server.port}`];
      await using balancer = await startBalancer(kind, component.path, { backends });
      // Envoy chooses at random, and may choose the other server each time.
      const send = async (ask: () => Promise<number>) => {
        const before = dying.received();
        let failed = 0;
        while (dying.received() === before) {
          const statuses = await Promise.all(Array.from({ length: MANY }, ask));
          failed += statuses.filter((status) => status >= 502).length;
        }
        return { failed, received: dying.received() - before };
      };
      const opens = (query = "", headers = {}) => send(() => handshake(`${balancer.url}/ws${query}`, headers));
      expect(await opens()).toMatchObject({ failed: 0 });
      const id = "a-session-that-may-be-back-soon";
      for (const { failed, received } of [
        await opens(`?session_id=${id}`),
        await opens("", { "openenv-session": id }),
        await opens("", { "x-openenv-session-id": id }),
        await send(async () => (await stepHttp(balancer.url, {})).status),
      ]) {
        expect(failed).toBe(received);
      }
    });

    test("an idle session stays open when idle connections without a session are closed", async () => {
      // No ping is sent in the meantime.
      const { server } = await start({ pingIntervalMs: 2_000_000_000 });
      const backends = [`127.0.0.1:${server.port}`];
      await using balancer = await startBalancer(kind, component.path, { backends, edit: SHORTEN[kind] });
      await using session = await openTestSocket(`${balancer.url}/ws`);
      await session.ask({ type: "reset" });
      await cutForSilence(balancer.url);
      expect(await session.ask({ type: "step", data: TALLY })).toMatchObject({ type: "observation" });
    });
  });
}

/**
 * Closes a connection instead of answering a second POST on it, like a server whose keep-alive timeout has just
 * expired.
 */
async function startForgetfulServer(): Promise<{ address: string } & AsyncDisposable> {
  const used = new WeakSet<Socket>();
  const server = createServer((request, response) => {
    if (request.method === "POST" && used.has(request.socket)) return request.socket.destroy();
    if (request.method === "POST") used.add(request.socket);
    request.resume().once("end", () => response.end("{}"));
  });
  return listen(server);
}

/** The status of the answer to a handshake; 502 if the connection closes without one. */
async function handshake(url: string, headers: Record<string, string>): Promise<number> {
  try {
    await using _socket = await openTestSocket(url, { headers });
    return 101;
  } catch (error) {
    return Number(/response: (\d+)/.exec((error as Error).message)?.[1] ?? 502);
  }
}

/** Closes or resets each connection that sends anything other than a health check, like a server that is being killed. */
async function startDyingServer(): Promise<{ address: string; received(): number } & AsyncDisposable> {
  let received = 0;
  const end = ({ socket }: IncomingMessage) => {
    if (++received % 2 === 0) socket.destroy();
    else socket.resetAndDestroy();
  };
  const server = createServer((request, response) => (request.url === "/health" ? response.end("{}") : end(request)));
  server.on("upgrade", end);
  return { ...(await listen(server)), received: () => received };
}

async function listen(server: Server): Promise<{ address: string } & AsyncDisposable> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Keeps a connection open after one request, until the balancer closes it. */
async function cutForSilence(url: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await once(socket, "data");
  await once(socket, "close");
}
