import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { findFreePort } from "../../../../test-support/free-port.js";
import { startRedis, type TestRedis } from "../../../../test-support/journals/redis.js";
import { AS_OPERATOR } from "../../../../test-support/operator.js";
import { requireRedis, requireRuntimes } from "../../../../test-support/requirement.js";
import { openAll, RESET, startCluster, step, until } from "../../../../test-support/servers/cluster.js";
import { openBinarySocket } from "../../../../test-support/sockets/binary-socket.js";
import { pipelineRequests } from "../../../../test-support/sockets/pipelined-requests.js";
import { BEGIN, stepFrame, TOKEN } from "../../../../test-support/sockets/resumable.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { connect } from "../connect.js";

const MB = 1024 * 1024;
/** Actions of the environment: a step that does not end, one that answers with a megabyte, one of half a second, one that fills the memory, and two that answer with bytes. */
const [ENDLESS, LARGE, SLOW, FILL, IMAGE, LARGE_IMAGE] = [15, 16, 17, 18, 19, 20];

const redis = await requireRedis();
const RUNTIMES = await requireRuntimes();

describe.each(RUNTIMES)("a server on $name", ({ name, path, available }) => {
  describe.skipIf(!available)("with its own server", { timeout: 120_000 }, () => {
    const runtime = { name, path };
    const start = (env: Record<string, string> = {}, options: { port?: number } = {}) =>
      startCluster({ MAX_CONCURRENT_ENVS: "120", ...env }, { runtime, detached: true, ...options });
    const pauses = name === "node";

    test("answers HTTP: sessions, errors, long calls, clients that leave, and a body that is too large", async () => {
      await using server = await start({ SESSION_TIMEOUT: "60" });
      const post = (path: string, body: unknown, init: RequestInit = {}): Promise<Response> => {
        const headers = { "content-type": "application/json", ...(init.headers as Record<string, string>) };
        return fetch(server.url + path, { method: "POST", body: JSON.stringify(body), ...init, headers });
      };
      const began = await post("/reset", {});
      const session = { "openenv-session": began.headers.get("openenv-session") ?? "" };
      const stepped = await post("/step", { action: { amount: 2 } }, { headers: session });
      expect(await stepped.json()).toMatchObject({ observation: { count: 2 }, reward: 2 });
      expect((await post("/step", { action: { amount: "x" } }, { headers: session })).status).toBe(422);
      const broken = await post("/step", undefined, { headers: session, body: '{"action": {"amount": 1,}}' });
      // Bun reports no position.
      const issue = { type: "json_invalid", loc: ["body", name === "bun" ? 0 : 24] };
      expect({ status: broken.status, body: await broken.json() }).toMatchObject({
        status: 422,
        body: { detail: [issue] },
      });
      expect((await fetch(`${server.url}/none`)).status).toBe(404);
      expect((await fetch(`${server.url}/step`)).status).toBe(405);
      expect((await post("/step", { text: "x".repeat(17 * MB) })).status).toBe(413);
      const large = await post("/step", { action: { amount: LARGE } }, { headers: session });
      expect(((await large.json()) as { observation: { text: string } }).observation.text).toHaveLength(1_000_000);
      // Longer than the time that Bun gives an idle request, and the client leaves before the end.
      const leave = new AbortController();
      const endless = post("/step", { action: { amount: ENDLESS } }, { signal: leave.signal });
      await sleep(12_000);
      expect((await server.capacity()).active_sessions).toBeGreaterThanOrEqual(1);
      leave.abort();
      await expect(endless).rejects.toThrow();
      await until(async () => (await server.capacity()).active_sessions === 1);
    });

    test("logs refused tokens with the address of the client, and delays only wrong ones", async () => {
      await using server = await start({ OPENENV_CLIENT_TOKEN: "for clients" });
      const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
      const get = async (token: string) => (await fetch(`${server.url}/schema`, { headers: bearer(token) })).status;
      const handshake = async (token: string): Promise<number> => {
        const ws = new WebSocket(`${server.url.replace("http", "ws")}/ws`, { headers: bearer(token) });
        ws.on("error", () => {});
        const [, response] = await once(ws, "unexpected-response");
        return response.statusCode;
      };
      expect(await get("wrong")).toBe(401);
      const since = performance.now();
      const waited: number[] = [];
      const wrong = [get("wrong"), handshake("wrong")].map(async (refused) => {
        expect(await refused).toBe(401);
        waited.push(performance.now() - since);
      });
      for (let i = 0; i < 3; i++) expect(await get("for clients")).toBe(200);
      const socket = await openTestSocket(`${server.url}/ws`, { headers: bearer("for clients") });
      expect(await socket.ask(RESET)).toMatchObject({ type: "observation" });
      await socket[Symbol.asyncDispose]();
      await Promise.all(wrong);
      // Timers may end a little early.
      for (const ms of waited) expect(ms).toBeGreaterThan(900);
      expect(await handshake("wrong")).toBe(401);
      await until(() => server.command.stderr.split("a token was refused").length === 5);
      const lines = server.command.stderr.match(/^\{.*a token was refused.*$/gm) ?? [];
      expect(lines.map((line) => JSON.parse(line).client)).toEqual(Array(4).fill("127.0.0.1"));
      expect(lines.join()).not.toContain("wrong");
    });

    test("delays a wrong token of an orchestrator, and serves its peer as a client", async () => {
      await using server = await start({ OPENENV_MODE: "production", OPENENV_ORCHESTRATOR_TOKEN: "right" });
      const reset = async (token: string): Promise<unknown> => {
        await using socket = await openTestSocket(`${server.url}/ws`, {
          headers: { authorization: `Bearer ${token}` },
        });
        return await socket.ask(RESET);
      };
      // The second one is delayed.
      for (let nth = 0; nth < 2; nth++) expect(await reset("wrong")).toMatchObject({ data: { code: "FORBIDDEN" } });
      expect(await reset("right")).toMatchObject({ type: "observation" });
      await until(() => server.command.stderr.split("a token was refused").length === 3);
    });

    test("answers HTTP/1.0 without a host, as balancers check the health", async () => {
      await using server = await start();
      const socket = pipelineRequests(Number(new URL(server.url).port), "GET /health?from=balancer HTTP/1.0\r\n\r\n");
      expect(await text(socket)).toMatch(/^HTTP\/1\.[01] 200 [\s\S]*\{"status":"healthy"\}$/);
    });

    test("serves MCP with sessions, the page and its updates, the documentation and metrics", async () => {
      await using server = await start();
      const client = new Client({ name: "test", version: "1" });
      await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
      const { tools } = await client.listTools();
      expect(tools.map((tool) => tool.name)).toEqual(["count"]);
      expect(await client.callTool({ name: "count", arguments: {} })).toMatchObject({
        structuredContent: { result: 0 },
      });
      await client.close();
      for (const place of ["/web/", "/docs", "/openapi.json", "/schema"]) {
        expect((await fetch(server.url + place)).status).toBe(200);
      }
      const updates = await openTestSocket(`${server.url}/ws/ui`);
      expect(await updates.receive()).toMatchObject({ type: expect.any(String) });
      await updates[Symbol.asyncDispose]();
      const metrics = await fetch(`${server.url}/metrics`, { headers: AS_OPERATOR });
      expect(await metrics.text()).toMatch(/openenv_sessions\S* \d/);
    });

    test("steps two sessions of one batch socket", async () => {
      await using server = await start();
      await using socket = await openTestSocket(`${server.url}/ws?openenv=batch`);
      const opened = await socket.ask({ type: "open_many", data: { count: 2 } });
      expect(opened).toMatchObject({ openenv: { extensions: ["batch"] } });
      await socket.ask({ type: "reset_many", data: { items: [{ session: 0 }, { session: 1 }] } });
      const items = [0, 1].map((session) => ({ session, data: { amount: session + 2 } }));
      expect(await socket.ask({ type: "step_many", data: { items } })).toMatchObject({
        data: { items: [2, 3].map((count) => ({ data: { observation: { count }, reward: count } })) },
      });
      expect((await server.capacity()).active_sessions).toBe(2);
    });

    test("answers MessagePack with MessagePack", async () => {
      await using server = await start();
      await using socket = await openBinarySocket(`${server.url}/ws?openenv=binary`);
      const first = await socket.ask(JSON.stringify(RESET));
      expect(first).toMatchObject({ binary: false, frame: { openenv: { extensions: ["binary"] } } });
      expect(await socket.askPacked(step(3))).toMatchObject({ data: { observation: { count: 3 }, reward: 3 } });
      const amounts = [...Array<number>(12).fill(IMAGE), LARGE_IMAGE, IMAGE];
      const steps = await Promise.all(amounts.map((amount) => socket.askPacked(step(amount))));
      let expected = 3;
      for (const [i, answer] of steps.entries()) {
        const { count, image } = (answer as { data: { observation: { count: number; image: Uint8Array } } }).data
          .observation;
        expect(count).toBe((expected += amounts[i] ?? 0));
        const size = amounts[i] === LARGE_IMAGE ? 5_000_000 : 1_000_000;
        expect(Buffer.alloc(size, count).equals(image), `image ${i}`).toBe(true);
      }
    });

    test("never echoes a token, and refuses strangers, other paths and other handshakes", async () => {
      await using server = await start();
      const token = `openenv-token.${Buffer.from("secret").toString("base64url")}`;
      const offered = async (protocols: string[]): Promise<string> => {
        const ws = new WebSocket(`${server.url}/ws`.replace("http", "ws"), protocols).on("error", () => {});
        const [response] = (await once(ws, "upgrade")) as [{ headers: Record<string, string> }];
        ws.terminate();
        return response.headers["sec-websocket-protocol"] ?? "";
      };
      expect(await offered([token, "openenv"])).toBe("openenv");
      expect(await offered([token])).toBe("");
      const origin = openTestSocket(`${server.url}/ws`, { headers: { origin: "https://evil.example" } });
      await expect(origin).rejects.toThrow(/403/);
      await expect(openTestSocket(`${server.url}/none`)).rejects.toThrow(/403/);
      const plain = await fetch(`${server.url}/ws`);
      expect(plain.status).toBe(404);
    });

    describe("that is resumed", () => {
      test("continues a session on another connection", async () => {
        await using server = await start();
        const first = await openTestSocket(`${server.url}/ws?openenv=resume`);
        const { data } = (await first.ask(BEGIN)) as { data: { session_id: string } };
        await first.ask({ ...RESET, seq: 1, ack: 0 });
        await first.ask(stepFrame(1, 2));
        await first[Symbol.asyncDispose]();
        const second = await openTestSocket(`${server.url}/ws?openenv=resume&session_id=${data.session_id}`);
        const resumed = await second.ask({ type: "resume", data: { token: TOKEN } });
        expect(resumed).toMatchObject({ data: { recovered: true, last_seq: 2 } });
        // A repeated request is answered, not executed again.
        expect(countOf(await second.ask(stepFrame(1, 2)))).toBe(1);
        expect(countOf(await second.ask(stepFrame(1, 3)))).toBe(2);
        await second[Symbol.asyncDispose]();
      });

      test("moves the session of an address when its peer is gone", async () => {
        await using server = await start();
        const path = `${server.url}/session/run-7_worker-3_5f1c9a/ws`;
        for (let count = 1; count < 4; count++) {
          const socket = await openTestSocket(path);
          if (count === 1) await socket.ask(RESET);
          expect(countOf(await socket.ask(step(1)))).toBe(count);
          await socket[Symbol.asyncDispose]();
        }
      });

      let folder = "";
      let store: TestRedis | undefined;
      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), "openenv-runtimes-"));
        if (redis.available) store = await startRedis(redis.path);
      });
      afterAll(async () => {
        await rm(folder, { recursive: true, force: true });
        await store?.[Symbol.asyncDispose]();
      });

      test.each([
        { kind: "a file", address: () => join(folder, "sessions.db") },
        ...(redis.available ? [{ kind: "Redis", address: () => store?.url ?? "" }] : []),
      ])("continues after kill -9 with a journal in $kind", async ({ address }) => {
        const [JOURNAL, port] = [address(), await findFreePort()];
        const first = await start({ JOURNAL }, { port });
        const env = await connect(first.url, { resume: true });
        const { pid } = (await env.reset()).observation as { pid: number };
        expect((await env.step({ amount: 3 })).observation["count"]).toBe(3);
        // On Node also the supervisor, which would replace the worker; elsewhere the process is in a group of its own.
        process.kill(pauses ? -(first.command.process.pid ?? 0) : pid, "SIGKILL");
        await first.command.exited;
        await using second = await start({ JOURNAL }, { port });
        const after = (await env.step({ amount: 4 })).observation as { pid: number; count: number };
        expect(after).toMatchObject({ count: 7 });
        expect(after.pid).not.toBe(pid);
        expect(second.url).toBe(first.url);
        await env.close();
        await first[Symbol.asyncDispose]();
      });
    });

    test.each(["SIGTERM", "SIGINT"] as const)(
      "lets a call finish on %s, closes sockets with 1012 and exits with 0",
      async (signal) => {
        await using server = await start();
        const [idle, busy] = await openAll(server.url, 2);
        busy?.socket.send(step(SLOW));
        busy?.socket.ws.ping();
        // The answer proves that all frames before it were read.
        if (busy) await once(busy.socket.ws, "pong");
        server.command.process.kill(signal);
        expect(countOf(await busy?.socket.receive())).toBe(SLOW);
        expect((await idle?.socket.closed)?.code).toBe(1012);
        expect((await busy?.socket.closed)?.code).toBe(1012);
        expect(await server.command.exited).toBe(0);
      },
    );

    test("isolates sessions in processes, whose memory is limited", async () => {
      await using server = await start({ ISOLATION: "process", ISOLATE_MEMORY_MB: "200" });
      const [session] = await openAll(server.url, 1);
      expect(countOf(await session?.socket.ask(step(1)))).toBe(1);
      expect(await session?.socket.ask(step(FILL))).toMatchObject({ type: "error" });
      const [next] = await openAll(server.url, 1);
      expect(countOf(await next?.socket.ask(step(2)))).toBe(2);
    });

    test("isolates sessions in threads", async () => {
      await using server = await start({ ISOLATION: "thread" });
      const [session] = await openAll(server.url, 1);
      expect(countOf(await session?.socket.ask(step(1)))).toBe(1);
    });
  });
});

function countOf(frame: unknown): number {
  return (frame as { data: { observation: { count: number } } }).data.observation.count;
}
