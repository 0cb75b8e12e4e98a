/** What each runtime supports, and the limits that the servers of Bun and Deno keep. */
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { startProgram } from "../../../../../test-support/commands/npm.js";
import { requireRuntimes } from "../../../../../test-support/requirement.js";
import { openAll, RESET, startCluster, step, until, WHERE } from "../../../../../test-support/servers/cluster.js";
import { flood } from "../../../../../test-support/sockets/attacks.js";
import { openBinarySocket } from "../../../../../test-support/sockets/binary-socket.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { OPCODE } from "../../../../bench/src/ws-codec.js";

const MB = 1024 * 1024;
const SUPERVISED = `
import { serve } from "openenv-ts/server";
import environment from "./environment.mjs";
await serve(environment, { port: 0, supervise: true });
console.log("started");
process.exit();
`;

const RUNTIMES = await requireRuntimes();
const [, bun] = RUNTIMES;

describe.each(RUNTIMES)("what a server on $name supports", ({ name, path, available }) => {
  describe.skipIf(!available)("with its own server", { timeout: 60_000 }, () => {
    test("steps two sessions of one batch socket", async () => {
      await using server = await startCluster({}, { runtime: { name, path } });
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
      await using server = await startCluster({}, { runtime: { name, path } });
      await using socket = await openBinarySocket(`${server.url}/ws?openenv=binary`);
      const first = await socket.ask(JSON.stringify(RESET));
      expect(first).toMatchObject({ binary: false, frame: { openenv: { extensions: ["binary"] } } });
      expect(await socket.askPacked(step(3))).toMatchObject({ data: { observation: { count: 3 }, reward: 3 } });
    });

    test.skipIf(name === "node")("refuses to supervise itself", async () => {
      await using project = await createProject({ "environment.mjs": WHERE, "app.mjs": SUPERVISED });
      const args = name === "deno" ? ["run", "-A"] : [];
      await using program = startProgram(project.dir, [path, ...args, "app.mjs"]);
      const [refusal] = await program.printed(/Error: supervise is true.*|started/);
      expect(refusal).toMatch(/a server on (Bun|Deno) is one process: set it to false.*balancer/);
    });
  });
});

describe.skipIf(!bun.available)("the limits of a server on Bun", { timeout: 120_000 }, () => {
  const runtime = { name: "bun", path: bun.path };

  test("closes a peer that pings and reads none of its pongs, and keeps others", async () => {
    // No ping of the server is missed within the test.
    await using server = await startCluster({ PING_INTERVAL: "480" }, { runtime });
    const [other] = await openAll(server.url, 1);
    const payload = Buffer.alloc(125);
    // Much more than the system keeps of unread pongs.
    const count = Math.floor((100 * MB) / payload.length);
    await using attack = await flood(server.url, { count, payload, opcode: OPCODE.ping, before: [RESET] });
    await attack.sent;
    await until(async () => (await server.capacity()).active_sessions === 1);
    expect(await other?.socket.ask(step(1))).toMatchObject({ data: { observation: { count: 1 } } });
  });

  test("ends a request of which only the headers came", async () => {
    await using server = await startCluster({}, { runtime });
    const start = Date.now();
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1").resume();
    socket.on("error", () => {});
    socket.write(
      "POST /step HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n",
    );
    await once(socket, "close");
    const seconds = (Date.now() - start) / 1000;
    // The limit is 10 s; Bun looks at its connections every few seconds.
    expect(seconds).toBeGreaterThan(5);
    expect(seconds).toBeLessThan(20);
  });
});
