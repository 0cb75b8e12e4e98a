import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../test-support/servers/servers.js";
import { defineContract, defineEnvironment } from "../../../openenv/src/index.js";
import type { RunningServer } from "../../../openenv/src/server/types.js";

const { start } = useServers();

/** Sends the parts one after the other on one connection; all that comes back until the server ends it. */
async function send({ port }: RunningServer, ...parts: string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const closed = once(socket, "close");
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => (text += chunk));
  for (const part of parts) {
    socket.write(part);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await closed;
  return text;
}

const head = (line: string, ...more: string[]): string =>
  [`${line} HTTP/1.1`, "Host: localhost", ...more, "", ""].join("\r\n");
const OFFER = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"];
const statuses = (text: string): string[] => text.match(/HTTP\/1\.1 \d+/g) ?? [];

test("a request that offers h2c is answered in HTTP/1.1, and its connection stays open", async () => {
  const server = await start();
  const last = head("GET /health", "Connection: close, Upgrade, HTTP2-Settings", ...OFFER.slice(1));
  const text = await send(server, head("GET /health", ...OFFER), head("GET /metadata"), last);
  expect(statuses(text)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 200"]);
  expect(text).toContain("healthy");
});

test("pipelined requests that offer h2c are answered in order, also behind a slow one, and the connection stays", async () => {
  const server = await start();
  const step = (amount: number): string => {
    const body = JSON.stringify({ action: { amount } });
    return head("POST /step", ...OFFER, "Content-Type: application/json", `Content-Length: ${body.length}`) + body;
  };
  // 50 takes its time.
  const amounts = [1, 50, 2, 50, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14];
  const last = head("GET /health", "Connection: close");
  const text = await send(
    server,
    amounts.map(step).join(""),
    step(15) + step(16).slice(0, -5),
    step(16).slice(-5) + last,
  );
  expect(text.match(/"count":\d+/g)).toEqual([...amounts, 15, 16].map((amount) => `"count":${amount}`));
  expect(text).toContain("healthy");
});

test("the event loop handles its other events after each of many pipelined requests that offer h2c", async () => {
  let turn = 0;
  const seen: number[] = [];
  const contract = defineContract({ name: "turns_env", action: z.object({}), observation: z.object({}) });
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: {} }),
    step() {
      seen.push(turn);
      return { observation: {} };
    },
  }));
  const server = await start({}, { environment });
  const body = '{"action":{}}';
  const step = head("POST /step", ...OFFER, "Content-Type: application/json", `Content-Length: ${body.length}`) + body;
  let ticking = setImmediate(function tick() {
    turn++;
    ticking = setImmediate(tick);
  });
  onTestFinished(() => clearImmediate(ticking));
  const text = await send(server, step.repeat(100) + head("GET /health", "Connection: close"));
  expect(statuses(text)).toHaveLength(101);
  expect(new Set(seen).size).toBe(100);
});

test("a connection that is cut while requests that offer h2c wait takes nothing along", async () => {
  const server = await start();
  for (let i = 0; i < 5; i++) {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    const body = '{"action":{"amount":50}}';
    const slow =
      head("POST /step", ...OFFER, "Content-Type: application/json", `Content-Length: ${body.length}`) + body;
    socket.write(slow + slow + slow);
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.resetAndDestroy();
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(statuses(await send(server, head("GET /health", "Connection: close")))).toEqual(["HTTP/1.1 200"]);
});

test.each<[string, string[], string[]]>([
  ["its length, in one piece", ["Content-Length: 12"], ['{"start":40}']],
  ["its length, in two pieces", ["Content-Length: 12"], ['{"sta', 'rt":41}']],
  ["chunks", ["Transfer-Encoding: chunked"], ["b\r\n", '{"start":42\r\n1\r\n}\r\n0\r\n\r\n']],
])("the body of a POST that offers h2c arrives, announced by %s", async (_how, headers, pieces) => {
  const server = await start();
  const type = "Content-Type: application/json";
  const request = head(
    "POST /reset",
    "Connection: close, Upgrade, HTTP2-Settings",
    ...OFFER.slice(1),
    type,
    ...headers,
  );
  const [first = "", ...rest] = pieces;
  const text = await send(server, request + first, ...rest);
  expect(text).toMatch(/^HTTP\/1\.1 200.*"count":4\d/s);
});

test("a WebSocket at another path is still rejected", async () => {
  const server = await start();
  expect(await send(server, head("GET /health", "Connection: Upgrade", "Upgrade: websocket"))).toMatch(
    /^HTTP\/1\.1 403/,
  );
});
