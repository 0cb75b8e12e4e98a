import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createContext } from "../../../../test-support/environments/context.js";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { waitFor } from "../../../../test-support/servers/servers.js";
import { createRuntime } from "../../../openenv/src/session/runtime.js";
import { createNodeServer } from "../runtimes/node.js";
import { Openings } from "./openings.js";

/** Fits into any system's queue of connections. */
const BURST = 100;
const HEAD = "Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

test("a burst of connections is accepted before most of its sockets are opened, in the order of their requests", async () => {
  const opened: string[] = [];
  let accepted = 0;
  let openedBefore = 0;
  const context = await createContext(createRuntime(defineCounter().environment), {});
  const server = createNodeServer({
    context,
    handle: async () => {},
    upgrade: ({ request }) => void opened.push(request.url as string),
  });
  const requested: string[] = [];
  const sockets: Socket[] = [];
  server.on("connection", (socket) => {
    sockets.push(socket);
    accepted++;
    if (accepted === BURST) openedBefore = opened.length;
  });
  server.prependListener("upgrade", ({ url }) => void requested.push(url as string));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  for (let number = 0; number < BURST; number++) {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    socket.write(`GET /${number} HTTP/1.1\r\n${HEAD}`);
    sockets.push(socket);
  }

  await waitFor(() => opened.length === BURST);
  expect(openedBefore).toBeLessThanOrEqual(BURST / 4);
  expect(opened).toEqual(requested);
});

test("a socket is opened at once when no connection was accepted in this turn and no other socket waits", () => {
  let opened = 0;
  new Openings().add(() => void opened++);
  expect(opened).toBe(1);
});

test("sockets wait no longer when connections arrive for more than five seconds", async () => {
  const openings = new Openings();
  let [now, opened, turns] = [0, 0, 0];
  vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  openings.accepted();
  for (let number = 0; number < 50; number++) openings.add(() => void opened++);
  const accept = async (): Promise<void> => {
    openings.accepted();
    await new Promise(setImmediate);
    turns++;
  };
  while (opened === 0) await accept();
  expect(turns).toBeGreaterThanOrEqual(15);
  now = 5000;
  while (opened < 50) await accept();
  expect(turns).toBeLessThanOrEqual(70);
});
