import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { runCommand } from "../../../../../test-support/commands/command-line.js";
import { startProgram } from "../../../../../test-support/commands/npm.js";
import { openDescriptors } from "../../../../../test-support/commands/processes.js";
import { findFreePort } from "../../../../../test-support/free-port.js";
import { startRedis, type TestRedis } from "../../../../../test-support/journals/redis.js";
import { AS_OPERATOR } from "../../../../../test-support/operator.js";
import { requireRedis, requireRuntimes } from "../../../../../test-support/requirement.js";
import { openAll, RESET, startCluster, step, until } from "../../../../../test-support/servers/cluster.js";
import { flood, peakMemory } from "../../../../../test-support/sockets/attacks.js";
import { openRawPeer } from "../../../../../test-support/sockets/raw-peer.js";
import { BEGIN, stepFrame, TOKEN } from "../../../../../test-support/sockets/resumable.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { OPCODE } from "../../../../bench/src/ws-codec.js";
import { connect } from "../../connect.js";

const MB = 1024 * 1024;
const BYSTANDERS = 10;
/** Actions of the environment: a step that does not end, one that answers with a megabyte, one of half a second, and one that fills the memory. */
const [ENDLESS, LARGE, SLOW, FILL] = [15, 16, 17, 18];

const redis = await requireRedis();
const RUNTIMES = await requireRuntimes();

describe.each(RUNTIMES)("a server on $name", ({ name, path, available }) => {
  describe.skipIf(!available)("with its own server", { timeout: 120_000 }, () => {
    const runtime = { name, path };
    const start = (env: Record<string, string> = {}, options: { port?: number; openFiles?: number } = {}) =>
      startCluster({ MAX_CONCURRENT_ENVS: "120", ...env }, { runtime, detached: true, ...options });
    const pauses = name === "node";
    /** Runs steps in each session, one after the other; returns the sum of their counts. */
    const stepAll = async (sessions: Awaited<ReturnType<typeof openAll>>, steps: number): Promise<number> => {
      const counts = sessions.map(async ({ socket }) => {
        let count = 0;
        for (let i = 0; i < steps; i++) count = countOf(await socket.ask(step(1)));
        return count;
      });
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    };

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

    test("closes a socket whose message is too large with 1009, and keeps others", async () => {
      await using server = await start({ MAX_MESSAGE_BYTES: "100000" });
      const [other] = await openAll(server.url, 1);
      const socket = await openTestSocket(`${server.url}/ws`);
      socket.send({ type: "step", data: { text: "x".repeat(200_000) } });
      expect((await socket.closed).code).toBe(1009);
      expect(countOf(await other?.socket.ask(step(1)))).toBe(1);
    });

    test("closes a peer that answers no pings, and keeps one that does", async () => {
      await using server = await start({ PING_INTERVAL: "4", SESSION_TIMEOUT: "60" });
      const [alive] = await openAll(server.url, 1);
      const silent = await openRawPeer(server.url);
      silent.send(RESET);
      await until(async () => (await server.capacity()).active_sessions === 2);
      await until(async () => (await server.capacity()).active_sessions === 1);
      // Long after a peer that does not answer is closed.
      await sleep(10_000);
      expect(countOf(await alive?.socket.ask(step(1)))).toBe(1);
      silent.socket.destroy();
    });

    describe.skipIf(!existsSync("/proc/self/status"))("that is attacked", () => {
      test("answers others while 600,000 one-byte frames wait behind a slow step", async () => {
        await using server = await start();
        const others = await openAll(server.url, BYSTANDERS);
        const payload = Buffer.from("1");
        const attack = await flood(server.url, { count: 600_000, payload, before: [RESET, step(SLOW)], onAnswer() {} });
        expect(await stepAll(others, 10)).toBe(BYSTANDERS * 10);
        await Promise.race([attack.sent, sleep(20_000)]);
        // A runtime that cannot stop reading closes the peer with 1008.
        if (!pauses) await until(() => attack.peer.socket.destroyed || attack.peer.socket.readableEnded);
        await attack[Symbol.asyncDispose]();
        expect(await stepAll(others, 1)).toBe(BYSTANDERS * 11);
      });

      test("reports why it closes a peer with too many waiting messages", async () => {
        await using server = await start();
        const socket = await openTestSocket(`${server.url}/ws`);
        socket.send(RESET, step(ENDLESS));
        for (let i = 0; i < 20_000; i++) socket.send(step(1));
        if (pauses) await sleep(1_000);
        // Deno may end the connection before the frame is read.
        else expect((await socket.closed).code).toBeOneOf(name === "deno" ? [1006, 1008] : [1008]);
        expect(socket.ws.readyState).toBe(pauses ? WebSocket.OPEN : WebSocket.CLOSED);
        await socket[Symbol.asyncDispose]();
      });

      test("answers 10,000 steps that were sent after a slow one, in order", async () => {
        await using server = await start();
        const counts: number[] = [];
        const onAnswer = (answer: Buffer): void => void counts.push(countOf(JSON.parse(String(answer))));
        const payload = Buffer.from(JSON.stringify(step(1)));
        const attack = await flood(server.url, { count: 10_000, payload, before: [RESET, step(SLOW)], onAnswer });
        await until(() => attack.answers === 10_002);
        expect(counts).toEqual([0, 17, ...Array.from({ length: 10_000 }, (_, i) => 18 + i)]);
        await attack[Symbol.asyncDispose]();
      });

      test("serves a peer that waits for each answer while 30 others send 3,000 steps at once", async () => {
        await using server = await start();
        const others = await openAll(server.url, 1);
        const payload = Buffer.from(JSON.stringify(step(1)));
        const options = { count: 3_000, payload, before: [RESET], onAnswer() {} };
        const attacks = await Promise.all(Array.from({ length: 30 }, () => flood(server.url, options)));
        await until(() => attacks.every(({ answers }) => answers > 1));
        await stepAll(others, 10);
        expect(attacks.reduce((sum, { answers }) => sum + answers, 0)).toBeLessThan(30 * 3_001);
        for (const attack of attacks) await attack[Symbol.asyncDispose]();
      });

      test.each([
        ["one-byte frames from 20 connections", { peers: 20, payload: Buffer.from("1"), opcode: OPCODE.text }],
        ["pings from a connection that reads nothing", { peers: 1, payload: Buffer.from("1"), opcode: OPCODE.ping }],
      ])("keeps its memory and answers others under %s", async (_, { peers, ...how }) => {
        await using server = await start();
        const others = await openAll(server.url, BYSTANDERS);
        const pid = others[0]?.pid as number;
        const before = [RESET, step(ENDLESS)];
        const count = Math.floor((40 * MB) / (6 + how.payload.length));
        const attacks = await Promise.all(
          Array.from({ length: peers }, () => flood(server.url, { ...how, count, before })),
        );
        await Promise.race([sleep(4_000), Promise.all(attacks.map(({ sent }) => sent))]);
        expect(await stepAll(others, 5)).toBe(BYSTANDERS * 5);
        expect(peakMemory(pid)).toBeLessThan(500 * MB);
        for (const attack of attacks) await attack[Symbol.asyncDispose]();
      });

      test("closes peers that read none of their answers, and keeps its memory", async () => {
        await using server = await start({ PING_INTERVAL: "4", SESSION_TIMEOUT: "60" });
        const others = await openAll(server.url, BYSTANDERS);
        const pid = others[0]?.pid as number;
        const before = openDescriptors(pid);
        const payload = Buffer.from(JSON.stringify(step(LARGE)));
        const attacks = await Promise.all(
          Array.from({ length: 40 }, () => flood(server.url, { count: 30, payload, before: [RESET] })),
        );
        await until(async () => (await server.capacity()).active_sessions === BYSTANDERS);
        expect(await stepAll(others, 5)).toBe(BYSTANDERS * 5);
        expect(peakMemory(pid)).toBeLessThan(1024 * MB);
        // Connections for other requests may stay open. Deno keeps those of such peers, see SECURITY.md.
        if (name !== "deno") await until(() => openDescriptors(pid) < before + 5);
        for (const attack of attacks) await attack[Symbol.asyncDispose]();
      });

      test.skipIf(name === "node")("at the hard stop counts what it cannot free, and serves others", async () => {
        const program = join(import.meta.dirname, "../../../../../test-support/servers/limited-program.ts");
        // Deno does not look for the sources of `.js` files by default.
        const args = name === "deno" ? ["run", "-A", "--unstable-sloppy-imports", program] : [program];
        await using served = startProgram(tmpdir(), [path, ...args]);
        const [, url = ""] = await served.printed(/at (http:\S+)/);
        const ask = (bytes: number) => ({ type: "step", data: { bytes } });
        const other = await openTestSocket(`${url}/ws`);
        await other.ask(RESET);
        const holder = await openRawPeer(url);
        holder.send(RESET, ask(40 * MB));
        const accepts = (): Promise<boolean> =>
          openTestSocket(`${url}/ws`).then(
            (socket) => socket[Symbol.asyncDispose]().then(() => true),
            (error: Error) => !error.message.includes("503"),
          );
        if (name === "deno") await until(async () => !(await accepts()));
        await sleep(2_000);
        expect(await accepts()).toBe(name === "bun");
        expect(await other.ask(ask(10))).toMatchObject({ data: { observation: { text: "x".repeat(10) } } });
        holder.socket.destroy();
        await until(accepts);
        await other[Symbol.asyncDispose]();
      });

      test("refuses with 503 when descriptors run out, and accepts again when sockets close", async () => {
        await using server = await start({ MAX_CONCURRENT_ENVS: "500", LOG_LEVEL: "error" }, { openFiles: 120 });
        const open: Awaited<ReturnType<typeof openTestSocket>>[] = [];
        const refusal = async (): Promise<unknown> => {
          for (let i = 0; i < 120; i++) open.push(await openTestSocket(`${server.url}/ws`));
          return undefined;
        };
        await expect(refusal()).rejects.toThrow(/503/);
        expect(await open[0]?.ask(RESET)).toMatchObject({ type: "observation" });
        for (const socket of open.splice(1)) await socket[Symbol.asyncDispose]();
        await until(async () => (await server.capacity()).active_sessions === 1);
        const again = await openTestSocket(`${server.url}/ws`);
        expect(await again.ask(RESET)).toMatchObject({ type: "observation" });
        await again[Symbol.asyncDispose]();
      });
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
        { kind: "lmdb", address: () => join(folder, "sessions.lmdb") },
        ...(redis.available ? [{ kind: "redis", address: () => store?.url ?? "" }] : []),
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
        await sleep(100);
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

    test.skipIf(name === "node")("refuses to start with what it cannot keep", async () => {
      const refuse = async (variables: Record<string, string>): Promise<string> => {
        const args = ["serve", join(import.meta.dirname, "../../../../../envs/echo"), "--runtime", name];
        const PATH = `${dirname(path)}${delimiter}${process.env["PATH"]}`;
        const { code, stderr } = await runCommand(args, { cwd: tmpdir(), env: { PATH, ...variables } });
        return `${code} ${stderr}`;
      };
      expect(await refuse({ WORKERS: "2" })).toMatch(/^2 .*WORKERS is 2.*HAProxy/s);
      const isolation = { ISOLATION: "thread", ISOLATE_MEMORY_MB: "100" };
      expect(await refuse(isolation)).toMatch(/^2 .*ISOLATE_MEMORY_MB is 100.*process/s);
      for (const PING_INTERVAL of name === "bun" ? ["1", "481"] : ["0.4"]) {
        expect(await refuse({ PING_INTERVAL })).toMatch(new RegExp(`^2 .*PING_INTERVAL is ${PING_INTERVAL}`, "s"));
      }
      if (name === "deno")
        expect(await refuse({ MAX_MESSAGE_BYTES: "100000000" })).toMatch(/^2 .*MAX_MESSAGE_BYTES is 100000000/s);
    });
  });
});

function countOf(frame: unknown): number {
  return (frame as { data: { observation: { count: number } } }).data.observation.count;
}
