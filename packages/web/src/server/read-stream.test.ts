import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

/** Sends two events to each request, and then leaves the response open. */
const server = createServer((request, response) => {
  requests.push(request);
  response.writeHead(request.url === "/missing" ? 404 : 200);
  if (request.url === "/missing") return response.end('{"detail":"no such stream"}');
  response.write('event: value\ndata: {"count":1}\n\ndata: 2\n\n');
});
const requests: IncomingMessage[] = [];

beforeEach(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  vi.stubGlobal("location", { href: `http://127.0.0.1:${(server.address() as AddressInfo).port}/web/` });
  vi.resetModules();
});
afterEach(() => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  server.close();
});

test("a reader that fails ends the request, whose body is JSON", async () => {
  const { readStream } = await import("./read-stream.js");
  const taken: unknown[] = [];
  const read = readStream("/stream", { body: { step: 1 } }, (event, data) => {
    taken.push([event, data]);
    if (taken.length === 2) throw new Error("enough");
  });
  await expect(read).rejects.toThrow("enough");
  expect(taken).toEqual([
    ["value", { count: 1 }],
    ["message", 2],
  ]);
  const [request] = requests.splice(0) as [IncomingMessage];
  expect([request.method, request.headers["content-type"]]).toEqual(["POST", "application/json"]);
  if (!request.socket.destroyed) await once(request.socket, "close");
});

test("a refused request and a missing server have messages that can be shown", async () => {
  const { readStream } = await import("./read-stream.js");
  const read = (path: string) => readStream(path, {}, () => {});
  await expect(read("/missing")).rejects.toMatchObject({ status: 404, message: "no such stream (404)" });
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  await expect(read("/stream")).rejects.toMatchObject({ status: 0, message: "The server cannot be reached." });
});
