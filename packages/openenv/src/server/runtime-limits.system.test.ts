/** The limits that hold on each runtime: docs/guide/runtimes.md lists them. Floods have a file of their own. */
import { once } from "node:events";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { createProject, runCommand } from "../../../../test-support/commands/command-line.js";
import { startProgram } from "../../../../test-support/commands/npm.js";
import { requireRuntimes } from "../../../../test-support/requirement.js";
import { openAll, RESET, startCluster, step, until, WHERE } from "../../../../test-support/servers/cluster.js";
import { flood } from "../../../../test-support/sockets/attacks.js";
import { offerHttp2, pipelineRequests, renderRequest } from "../../../../test-support/sockets/pipelined-requests.js";
import { openRawPeer } from "../../../../test-support/sockets/raw-peer.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { OPCODE } from "../../../bench/src/ws-codec.js";
import { FRAME_BYTES } from "../../../sockets/src/flow/inbound-queue.js";

const MB = 1024 * 1024;
/** Actions of the environment: a step that does not end, and one of half a second. */
const [ENDLESS, SLOW] = [15, 17];
const SUPERVISED = `
import { serve } from "openenv-ts/server";
import environment from "./environment.mjs";
await serve(environment, { port: 0, supervise: true });
console.log("started");
process.exit();
`;

const RUNTIMES = await requireRuntimes();

describe.each(RUNTIMES)("the limits of a server on $name", ({ name, path, available }) => {
  describe.skipIf(!available)("with its own server", { timeout: 120_000 }, () => {
    const start = (env: Record<string, string> = {}, options: { openFiles?: number } = {}) =>
      startCluster(env, { runtime: { name, path }, ...options });
    const countOf = (frame: unknown): number =>
      (frame as { data: { observation: { count: number } } }).data.observation.count;

    test("closes a socket whose message is too large with 1009, and keeps others", async () => {
      await using server = await start({ MAX_MESSAGE_BYTES: "100000" });
      const [other] = await openAll(server.url, 1);
      await using socket = await openTestSocket(`${server.url}/ws`);
      socket.send({ type: "step", data: { text: "x".repeat(200_000) } });
      expect((await socket.closed).code).toBe(1009);
      expect(countOf(await other?.socket.ask(step(1)))).toBe(1);
    });

    test("closes a peer that answers no pings with the documented code, and keeps one that does", async () => {
      await using server = await start({ PING_INTERVAL: "4", SESSION_TIMEOUT: "60" });
      const [alive] = await openAll(server.url, 1);
      let pings = 0;
      alive?.socket.ws.on("ping", () => pings++);
      await using silent = await openTestSocket(`${server.url}/ws`, { autoPong: false });
      await silent.ask(RESET);
      expect((await silent.closed).code).toBe({ node: 1011, bun: 1006, deno: 1001 }[name]);
      await until(async () => (await server.capacity()).active_sessions === 1);
      // Long after a peer that does not answer is closed.
      const before = pings;
      await until(() => pings >= before + 3);
      expect(countOf(await alive?.socket.ask(step(1)))).toBe(1);
    });

    test.skipIf(name === "node").each([
      ["16,384 frames", { count: 16_384, bytes: 1 }],
      ["16 MB of frames", { count: 16, bytes: MB - FRAME_BYTES }],
    ])("lets %s of a peer wait, and closes it with 1008 at one more", async (_, { count, bytes }) => {
      await using server = await start();
      const [other] = await openAll(server.url, 1);
      await using socket = await openTestSocket(`${server.url}/ws`);
      await socket.ask(RESET);
      const waiting = "1".padEnd(bytes);
      socket.send(step(ENDLESS), ...Array<string>(count).fill(waiting));
      // It is answered when all before it has been read.
      socket.ws.ping();
      await once(socket.ws, "pong");
      expect(socket.ws.readyState).toBe(WebSocket.OPEN);
      socket.send(waiting);
      expect(await socket.closed).toEqual({ code: 1008, reason: "too many messages wait for their answers" });
      await until(async () => (await server.capacity()).active_sessions === 1);
      expect(countOf(await other?.socket.ask(step(1)))).toBe(1);
    });

    test("answers pipelined HTTP requests in order; Bun closes the connection instead when one of them is slow", async () => {
      await using server = await start();
      const ask = (...amounts: number[]) => {
        const requests = amounts.map((amount) => renderRequest("/step", { action: { amount } }));
        const socket = pipelineRequests(portOf(server), requests.join("")).setEncoding("latin1");
        let text = "";
        socket.on("data", (part: string) => (text += part));
        return { socket, counts: () => [...text.matchAll(/"count":(\d+)/g)].map((found) => Number(found[1])) };
      };
      const quick = ask(1, 2, 3, 4, 5);
      await until(() => quick.counts().length === 5);
      expect(quick.counts()).toEqual([1, 2, 3, 4, 5]);
      const slow = ask(SLOW, 2, 3);
      if (name === "bun") await once(slow.socket, "close");
      else await until(() => slow.counts().length === 3);
      expect(slow.counts()).toEqual(name === "bun" ? [] : [17, 2, 3]);
      for (const { socket } of [quick, slow]) socket.destroy();
    });

    test("answers other connections while pipelined HTTP requests wait for one that does not end", async () => {
      await using server = await start();
      const ends = renderRequest("/step", { action: { amount: ENDLESS } });
      const socket = pipelineRequests(portOf(server), ends + renderRequest("/health").repeat(3));
      let received = 0;
      socket.on("data", ({ length }: Buffer) => (received += length));
      const [other] = await openAll(server.url, 1);
      // The environments that are open: of the socket, of the endless request, and of this one.
      const open = async (): Promise<number> => {
        const headers = { "content-type": "application/json" };
        const init = { method: "POST", headers, body: '{"action": {"amount": 1}}' };
        const { observation } = (await (await fetch(`${server.url}/step`, init)).json()) as {
          observation: { made: number; closed: number };
        };
        return observation.made - observation.closed;
      };
      if (name === "bun") await until(() => socket.closed);
      else await until(async () => (await open()) === 3);
      expect(countOf(await other?.socket.ask(step(1)))).toBe(1);
      expect(received).toBe(0);
      socket.destroy();
      // It ends when its client has left.
      await until(async () => (await open()) === 2);
    });

    test("answers a session while another connection pipelines requests that offer HTTP/2", async () => {
      await using server = await start();
      const [other] = await openAll(server.url, 1);
      const total = 100_000;
      const part = offerHttp2(renderRequest("/health")).repeat(1_000);
      const socket = pipelineRequests(portOf(server), Array<string>(total / 1_000).fill(part));
      let answers = 0;
      socket.setEncoding("latin1").on("data", (text: string) => (answers += text.split("HTTP/1.1 200").length - 1));
      await until(() => answers > 0 || socket.closed);
      for (let count = 1; count <= 10; count++) expect(countOf(await other?.socket.ask(step(1)))).toBe(count);
      // The session did not wait for the last of them.
      expect(answers).toBeLessThan(total);
      socket.destroy();
    });

    test.skipIf(name === "node")("at the hard stop counts what it cannot free, and serves others", async () => {
      const program = join(import.meta.dirname, "../../../../test-support/servers/limited-program.ts");
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
          (error: Error) => {
            if (error.message.includes("503")) return false;
            throw error;
          },
        );
      if (name === "deno") await until(async () => !(await accepts()));
      await sleep(2_000);
      expect(await accepts()).toBe(name === "bun");
      expect(await other.ask(ask(10))).toMatchObject({ data: { observation: { text: "x".repeat(10) } } });
      holder.socket.destroy();
      await until(accepts);
      expect(await other.ask(ask(10))).toMatchObject({ type: "observation" });
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

    test.skipIf(name === "node")("refuses to start with what it cannot keep", async () => {
      const refuse = async (variables: Record<string, string>): Promise<string> => {
        const args = ["serve", join(import.meta.dirname, "../../../../envs/echo"), "--runtime", name];
        const PATH = `${dirname(path)}${delimiter}${process.env["PATH"]}`;
        const { code, stderr } = await runCommand(args, { cwd: tmpdir(), env: { PATH, ...variables } });
        return `${code} ${stderr}`;
      };
      expect(await refuse({ WORKERS: "2" })).toMatch(/^2 .*WORKERS is 2.*HAProxy/s);
      expect(await refuse({ HEAP_MB: "500" })).toMatch(/^2 .*HEAP_MB is 500.*remove HEAP_MB/s);
      const isolation = { ISOLATION: "thread", ISOLATE_MEMORY_MB: "100" };
      expect(await refuse(isolation)).toMatch(/^2 .*ISOLATE_MEMORY_MB is 100.*process/s);
      for (const PING_INTERVAL of name === "bun" ? ["1", "481"] : ["0.4"]) {
        expect(await refuse({ PING_INTERVAL })).toMatch(new RegExp(`^2 .*PING_INTERVAL is ${PING_INTERVAL}`, "s"));
      }
      if (name === "deno")
        expect(await refuse({ MAX_MESSAGE_BYTES: "100000000" })).toMatch(/^2 .*MAX_MESSAGE_BYTES is 100000000/s);
    });

    test.skipIf(name === "node")("refuses to supervise itself", async () => {
      await using project = await createProject({ "environment.mjs": WHERE, "app.mjs": SUPERVISED });
      const args = name === "deno" ? ["run", "-A"] : [];
      await using program = startProgram(project.dir, [path, ...args, "app.mjs"]);
      const [refusal] = await program.printed(/Error: supervise is true.*|started/);
      expect(refusal).toMatch(/a server on (Bun|Deno) is one process: set it to false.*balancer/);
    });

    test.skipIf(name !== "bun")("closes a peer that pings and reads none of its pongs, and keeps others", async () => {
      // No ping of the server is missed within the test.
      await using server = await start({ PING_INTERVAL: "480" });
      const [other] = await openAll(server.url, 1);
      const payload = Buffer.alloc(125);
      // Much more than the system keeps of unread pongs.
      const count = Math.floor((100 * MB) / payload.length);
      await using attack = await flood(server.url, { count, payload, opcode: OPCODE.ping, before: [RESET] });
      await attack.sent;
      await until(async () => (await server.capacity()).active_sessions === 1);
      expect(countOf(await other?.socket.ask(step(1)))).toBe(1);
    });

    test.skipIf(name !== "bun")("ends a request of which only the headers came", async () => {
      await using server = await start();
      const begin = Date.now();
      const socket = connect(portOf(server), "127.0.0.1").resume();
      socket.on("error", () => {});
      socket.write(
        "POST /step HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n",
      );
      await once(socket, "close");
      const seconds = (Date.now() - begin) / 1000;
      // The limit is 10 s; Bun looks at its connections every few seconds.
      expect(seconds).toBeGreaterThan(5);
      expect(seconds).toBeLessThan(20);
    });
  });
});

function portOf({ url }: { url: string }): number {
  return Number(new URL(url).port);
}
