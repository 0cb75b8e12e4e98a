import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";

const { start } = useServers();

/** The head of the answer to a GET whose target no client library would send. */
async function get(target: string): Promise<string> {
  const { port } = await start();
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "close");
  return text.slice(0, text.indexOf("\r\n\r\n"));
}

test.each([
  ["http://localhost/health", /^HTTP\/1.1 200/],
  ["HTTP://localhost:80/health?x=1", /^HTTP\/1.1 200/],
  ["http://[/readyz?exclude=full", /^HTTP\/1.1 200/],
  ["/%68ealth", /^HTTP\/1.1 200/],
  ["/COUNTER%5Fenv/splits", /^HTTP\/1.1 501/],
  ["/%zz", /^HTTP\/1.1 404/],
  ["/health/?x=1", /^HTTP\/1.1 307[\s\S]*\nlocation: \/health\?x=1\r\n/i],
  ["/%68ealth//", /^HTTP\/1.1 307[\s\S]*\nlocation: \/%68ealth\r\n/i],
  ["/a%0d%0aset-cookie:x/splits/", /^HTTP\/1.1 307[\s\S]*\nlocation: \/a%0d%0aset-cookie:x\/splits\r\n/i],
  ["//health/", /^HTTP\/1.1 404/],
  ["/\\evil.example/splits/", /^HTTP\/1.1 404/],
  ["/\\/evil.example/splits/", /^HTTP\/1.1 404/],
  ["/%5Cevil.example/splits/", /^HTTP\/1.1 307[\s\S]*\nlocation: \/%5Cevil.example\/splits\r\n/i],
  ["http://localhost", /^HTTP\/1.1 404/],
  ["*", /^HTTP\/1.1 404/],
])("GET %s", async (target, head) => {
  expect(await get(target)).toMatch(head);
});

describe("pipelined requests", () => {
  const step = (port: number, amount: number): string => {
    const body = JSON.stringify({ action: { amount } });
    const head = `POST /step HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json`;
    return `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };

  test("are answered one after the other, in order", async () => {
    const { port } = await start();
    const socket = connect(port, "127.0.0.1");
    const last = `GET /health HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`;
    socket.write([step(port, 50), step(port, 1), step(port, 2), last].join(""));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    await once(socket, "close");
    expect(text.match(/"count":\d+|"healthy"/g)).toEqual(['"count":50', '"count":1', '"count":2', '"healthy"']);
  });

  test("whose connection ends before their turn are not begun, and nothing waits for them", async () => {
    const counter = defineCounter();
    const server = await start({ graceMs: 600_000 }, counter);
    const socket = connect(server.port, "127.0.0.1");
    socket.write(step(server.port, 60).repeat(3));
    await waitFor(() => counter.log.begun > 0);
    await sleep(50);
    socket.destroy();
    await waitFor(() => counter.log.closed > 0);
    await server.close();
    expect(counter.log).toEqual({ created: 1, begun: 1, closed: 1, aborted: 1 });
  });
});
