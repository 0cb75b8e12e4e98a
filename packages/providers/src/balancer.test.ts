import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { useServers } from "../../../test-support/servers/servers.js";
import { openTestSocket, type TestSocket } from "../../../test-support/sockets/socket.js";
import { type BalancedServer, createBalancer } from "./balancer.js";
import { createCleanupStack } from "./lifecycle/cleanup-stack.js";

const servers = useServers();

/** As many counters as asked for, behind one address. */
async function startBalanced(count: number, options = {}) {
  const running = await Promise.all(Array.from({ length: count }, () => servers.start(options)));
  const backends = running.map(
    ({ url }): BalancedServer => ({ id: url, host: "127.0.0.1", port: Number(new URL(url).port) }),
  );
  const releases = createCleanupStack();
  onTestFinished(async () => void (await releases.run()));
  const balancer = await createBalancer({ onCleanup: releases.add });
  balancer.use(backends);
  return { balancer, running, backends, releases };
}

async function open(url: string, path = "/ws"): Promise<TestSocket> {
  const socket = await openTestSocket(url + path);
  onTestFinished(() => socket[Symbol.asyncDispose]());
  return socket;
}

async function post(url: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(url + path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
  return { answer, body: (await answer.json()) as Record<string, never> };
}

async function active(url: string): Promise<number> {
  const { capacity } = (await (await fetch(`${url}/health`)).json()) as { capacity?: { active_sessions: number } };
  return capacity?.active_sessions ?? Number.NaN;
}

describe("sockets", () => {
  test("are spread evenly, and each stays with its server", async () => {
    const { balancer } = await startBalanced(3, { maxConcurrentEnvs: 4 });
    const sockets = await Promise.all(Array.from({ length: 12 }, () => open(balancer.url)));
    // Four fit into each of the three.
    for (const [index, socket] of sockets.entries()) {
      const data = { start: index };
      expect(await socket.ask({ type: "reset", data })).toMatchObject({ data: { observation: { count: index } } });
    }
    for (const [index, socket] of sockets.entries()) {
      const answer = await socket.ask({ type: "step", data: { amount: 1 } });
      expect(answer).toMatchObject({ data: { observation: { count: index + 1 } } });
    }
  });

  test("of a server that is taken out go on, and new ones go elsewhere", async () => {
    const { balancer, backends, running } = await startBalanced(2);
    const old = await open(balancer.url);
    await old.ask({ type: "reset", data: { start: 3 } });
    const [first, second] = backends as [BalancedServer, BalancedServer];
    balancer.use([second]);
    for (let times = 0; times < 3; times++) {
      const next = await open(balancer.url);
      expect(await next.ask({ type: "reset", data: {} })).toMatchObject({ type: "observation" });
    }
    expect(await old.ask({ type: "step", data: { amount: 1 } })).toMatchObject({ data: { observation: { count: 4 } } });
    await running.find(({ url }) => url === first.id)?.close();
    const next = await open(balancer.url);
    expect(await next.ask({ type: "reset", data: {} })).toMatchObject({ type: "observation" });
  });

  test("go to another server when one does not answer, and are refused when none does", async () => {
    const { balancer, backends } = await startBalanced(1);
    balancer.use([{ id: "gone", host: "127.0.0.1", port: 9 }, ...backends]);
    for (let times = 0; times < 4; times++) await open(balancer.url);
    balancer.use([{ id: "gone", host: "127.0.0.1", port: 9 }]);
    await expect(openTestSocket(`${balancer.url}/ws`)).rejects.toThrow("503");
  });

  test("are not taken at a port that is taken, which is named", async () => {
    const { port } = await servers.start();
    await expect(createBalancer({ onCleanup: onTestFinished }, port)).rejects.toMatchObject({
      code: "START_FAILED",
      message: expect.stringMatching(new RegExp(`Port ${port} .*EADDRINUSE.*leave .port. out`)),
    });
  });

  test("end with the balancer", async () => {
    const { balancer, releases } = await startBalanced(1);
    const socket = await open(balancer.url);
    expect(await releases.run()).toEqual([]);
    expect((await socket.closed).code).toBe(1006);
  });
});

describe("HTTP requests", () => {
  test("that name a session by header or cookie reach the server that opened it", async () => {
    const { balancer } = await startBalanced(3);
    for (const way of ["header", "cookie"]) {
      const { answer } = await post(balancer.url, "/reset", { start: 5 });
      const name = answer.headers.get("openenv-session") ?? "";
      const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? "";
      const headers: Record<string, string> = way === "header" ? { "openenv-session": name } : { cookie };
      for (let count = 6; count < 10; count++) {
        const { body } = await post(balancer.url, "/step", { action: { amount: 1 } }, headers);
        expect(body).toMatchObject({ observation: { count } });
      }
    }
  });

  test("of an MCP session reach the server that made it, and so does its socket", async () => {
    const { balancer } = await startBalanced(3);
    const rpc = { jsonrpc: "2.0", id: 1 };
    const create = async () => {
      const { body } = await post(balancer.url, "/mcp", { ...rpc, method: "openenv/session/create" });
      return (body as { result?: { session_id: string } }).result?.session_id ?? "";
    };
    for (let times = 0; times < 4; times++) {
      const session_id = await create();
      const closing = { ...rpc, method: "openenv/session/close", params: { session_id } };
      expect((await post(balancer.url, "/mcp", closing)).body).toMatchObject({ result: { closed: true } });
      const socket = await open(balancer.url, `/ws?session_id=${await create()}`);
      expect(await socket.ask({ type: "reset", data: {} })).toMatchObject({ type: "observation" });
    }
  });

  test("without a session are answered by any, errors and all", async () => {
    const { balancer } = await startBalanced(2);
    expect(await active(balancer.url)).toBeTypeOf("number");
    expect((await fetch(`${balancer.url}/nothing`)).status).toBe(404);
    balancer.use([]);
    expect((await fetch(`${balancer.url}/health`)).status).toBe(503);
  });

  /** The status line that the balancer answers to what no library would send. */
  async function say(url: string, head: string): Promise<string> {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write(`${head}\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    return (await text(socket)).split("\r\n")[0] ?? "";
  }

  test.each([
    ["GET /health HTTP/1.1\r\ntrailer: x\r\nte: trailers", "200"],
    ["GET //?session_id=x HTTP/1.1", "502"],
    ["GET //?session_id=x HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade", "502"],
  ])("that nobody sends in earnest are answered: %j", async (head, status) => {
    const { balancer } = await startBalanced(1);
    expect(await say(balancer.url, head)).toContain(status);
    expect((await fetch(`${balancer.url}/health`)).status).toBe(200);
  });

  test("whose answer cannot be passed on are told so", async () => {
    const { balancer } = await startBalanced(0);
    const odd = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ntrailer: x\r\ncontent-length: 0\r\n\r\n"));
    });
    odd.listen(0, "127.0.0.1");
    await once(odd, "listening");
    onTestFinished(() => void odd.close());
    balancer.use([{ id: "odd", host: "127.0.0.1", port: (odd.address() as AddressInfo).port }]);
    const answer = await fetch(`${balancer.url}/health`);
    expect([answer.status, await answer.json()]).toEqual([502, { detail: expect.stringContaining("passed on") }]);
  });
});
