import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { createContext } from "../../../../../test-support/environments/context.js";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { createNodeServer } from "../../../../sockets/src/runtimes/node.js";
import { createRuntime } from "../../session/runtime.js";
import { createAuthorization } from "../access/authorization.js";
import { createLogger } from "../logging/logger.js";
import { SocketServer } from "../websocket/socket-server.js";
import { definePlugin, type ServerPlugin } from "./index.js";
import { Plugins } from "./plugins.js";

type Authorize = NonNullable<ServerPlugin["authorize"]>;

const TOKEN = "of-clients";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanup.splice(0).reverse()) await end();
});

/** A server with a client token, whose handshakes come from its peers, or from another worker. */
async function startServer(how: "upgrade" | "acceptForwarded", authorize: Authorize) {
  const log = createLogger("silent");
  const runtime = createRuntime(defineCounter().environment, { log });
  const own = {
    runtime,
    variables: {},
    worker: 0,
    sessions: () => [],
    open: () => Promise.reject(new Error("no sessions")),
    ask: async () => ({ answer: null }),
  };
  const plugins = new Plugins([definePlugin({ name: "names", authorize })], own);
  const tokens = { clientToken: TOKEN, operatorToken: undefined, orchestratorToken: undefined, viewerToken: undefined };
  const context = await createContext(runtime, { plugins, authorization: createAuthorization(tokens) });
  const sockets = new SocketServer(context);
  const handle = (): Promise<void> => Promise.reject(new Error("no requests here"));
  const server = createNodeServer({ context, handle, upgrade: (upgrade) => sockets[how](upgrade) });
  await once(server.listen(0, "127.0.0.1"), "listening");
  cleanup.push(() => {
    sockets.close();
    log.close();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/ws`;
  const handshake = async (headers: Record<string, string> = {}): Promise<number> => {
    const ws = new WebSocket(url, { headers });
    ws.on("error", () => {});
    cleanup.push(() => ws.terminate());
    return Promise.race([
      once(ws, "unexpected-response").then(([, response]) => response.statusCode as number),
      once(ws, "open").then(() => 101),
    ]);
  };
  return { context, handshake };
}

test.each(["upgrade", "acceptForwarded"] as const)("a handshake needs a principal or a token: %s", async (how) => {
  const { handshake } = await startServer(how, ({ headers }) =>
    headers.authorization === "Bearer ada" ? { name: "ada" } : undefined,
  );
  expect(await handshake(bearer("ada"))).toBe(101);
  expect(await handshake(bearer(TOKEN))).toBe(101);
  expect(await handshake()).toBe(401);
  expect(await handshake(bearer("eve"))).toBe(401);
});

test.each(["upgrade", "acceptForwarded"] as const)(
  "no socket opens on a server that closes while authorize() is awaited: %s",
  async (how) => {
    let called = (): void => {};
    const asked = new Promise<void>((resolve) => {
      called = resolve;
    });
    let answer = (): void => {};
    const { context, handshake } = await startServer(how, () => {
      called();
      return new Promise<{ name: string }>((resolve) => {
        answer = () => resolve({ name: "ada" });
      });
    });
    const refused = handshake();
    await asked;
    context.closing = true;
    answer();
    expect(await refused).toBe(503);
  },
);
