import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { createProject, type Project } from "../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { JOURNAL_MODULE } from "../../../test-support/journals/file-journal.js";
import { startRedis, type TestRedis } from "../../../test-support/journals/redis.js";
import { startGateway } from "../../../test-support/proxies/gateway.js";
import { requireRedis } from "../../../test-support/requirement.js";
import { openAtBothWorkers } from "../../../test-support/servers/cluster.js";
import { serveProject } from "../../../test-support/servers/killable.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

/**
 * A tally that returns its process, and writes each execution to a file. Amounts: 13 ends the process, 17 waits for a file
 * `go`.
 */
const TALLY = `
import { defineContract, defineEnvironment } from "openenv-ts";
import { appendFileSync, existsSync } from "node:fs";
import * as z from "zod";
const tally = defineContract({
  name: "tally_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ pid: z.int(), count: z.int() }),
});
export default defineEnvironment(tally, () => {
  let count = 0;
  const look = () => ({ observation: { pid: process.pid, count } });
  return {
    reset: () => ((count = 0), look()),
    step: async ({ amount }) => {
      appendFileSync("executions", amount + "\\n");
      if (amount === 13) process.exit(1);
      while (amount === 17 && !existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
      count += amount;
      return look();
    },
    snapshot: () => ({ count }),
    restore: (saved) => void ({ count } = saved),
  };
});
`;

/** A connection that comes back to a session which no worker has. */
async function beginHandshake(url: string): Promise<Socket> {
  const socket = createConnection(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
  const fields = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";
  const key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  const head = `GET /ws?openenv=resume&session_id=w7-0123 HTTP/1.1\r\nhost: localhost\r\n${fields}${key}\r\n`;
  await new Promise<void>((resolve) => socket.write(head, () => resolve()));
  return socket;
}

const executions = async ({ dir }: Project): Promise<string[]> =>
  (await readFile(`${dir}/executions`, "utf8")).trim().split("\n");
const open = (url: string) => connect(url, { resume: true });
interface Answer {
  data: { openenv_code?: string; code?: string; observation: { pid: number; count: number } };
}

/** Sends one frame to a session by address, on a separate connection. */
async function ask(url: string, type: "reset" | "step", amount?: number): Promise<Answer["data"]> {
  await using socket = await openTestSocket(`${url}/session/run-7_worker-3_5f1c9a/ws`);
  return ((await socket.ask({ type, data: { amount } })) as unknown as Answer).data;
}

const countOf = ({ observation }: { observation: Record<string, unknown> | null }): unknown => observation?.["count"];

describe("with a journal in a file", () => {
  const JOURNAL = "sessions.db";

  test("clients continue when a worker is killed", { timeout: 120_000 }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    await using server = await serveProject(project, await findFreePort(), { WORKERS: "2", JOURNAL });
    const opened = await openAtBothWorkers(server.url);
    const [envs, pids] = [opened.map(({ env }) => env), opened.map(({ pid }) => pid)];
    await Promise.all(envs.map((env) => env.step({ amount: 1 })));
    process.kill(pids[0] as number, "SIGKILL");
    const results = await Promise.all(envs.map((env) => env.step({ amount: 2 })));
    expect(results.map(countOf)).toEqual(envs.map(() => 3));
    expect(results.map(({ recovered }) => recovered === true)).toEqual(pids.map((pid) => pid === pids[0]));
    expect(await executions(project)).toHaveLength(16);
    await Promise.all(envs.map((env) => env.close()));
  });

  test("a file that was not written to the disk is dropped when the machine has restarted", {
    timeout: 60_000,
  }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    const port = await findFreePort();
    await using first = await serveProject(project, port, { JOURNAL });
    await ask(first.url, "reset");
    expect(countOf(await ask(first.url, "step", 4))).toBe(4);
    await first.signal("SIGKILL");
    await project.write(`${JOURNAL}-boot`, "another boot");
    await using second = await serveProject(project, port, { JOURNAL });
    expect(await ask(second.url, "step", 1)).toMatchObject({ openenv_code: "NO_EPISODE" });
  });

  test.each(["SIGKILL", "SIGTERM"] as const)(
    "clients continue after %s of the whole server",
    async (signal) => {
      await using project = await createProject({ "environment.mjs": TALLY });
      const port = await findFreePort();
      const settings = { WORKERS: "2", JOURNAL, SHUTDOWN_DRAIN: "600" };
      await using first = await serveProject(project, port, settings);
      const envs = await Promise.all(Array.from({ length: 8 }, () => open(first.url)));
      await Promise.all(envs.map((env) => env.reset()));
      await Promise.all(envs.map((env) => env.step({ amount: 1 })));
      const pending = envs.map((env) => env.step({ amount: 17 }));
      await expect.poll(async () => (await executions(project)).length).toBe(16);
      const ended = first.signal(signal);
      // A server that drains waits for its steps.
      await project.write("go", "");
      await ended;
      await using _second = await serveProject(project, port, settings);
      expect((await Promise.all(pending)).map(countOf)).toEqual(envs.map(() => 18));
      expect((await Promise.all(envs.map((env) => env.step({ amount: 2 })))).map(countOf)).toEqual(envs.map(() => 20));
      // A step in flight runs again after a kill, and only then.
      expect(await executions(project)).toHaveLength(signal === "SIGKILL" ? 32 : 24);
      await Promise.all(envs.map((env) => env.close()));
    },
    120_000,
  );

  test("a step that ends its process is not executed a third time", { timeout: 120_000 }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    await using server = await serveProject(project, await findFreePort(), { JOURNAL });
    await using env = await open(server.url);
    await env.reset();
    await env.step({ amount: 4 });
    const poison = await env.tryStep({ amount: 13 });
    expect(poison).toMatchObject({ outcome: "env_error", error: { code: "STEP_CRASHED" } });
    expect(countOf(await env.step({ amount: 1 }))).toBe(5);
    expect(await executions(project)).toEqual(["4", "13", "13", "1"]);
  });
});

test.each([
  ["plain", {}],
  ["MCP", { "mcp-protocol-version": "2025-06-18", accept: "application/json, text/event-stream" }],
])(
  "a %s tool call over HTTP by address that ends two processes is not executed a third time",
  {
    timeout: 120_000,
  },
  async (_kind, more) => {
    const tools = `tools: defineTools({ roll: { description: "Rolls.", input: z.object({ amount: z.int() }), output: z.int() } }),`;
    const roll = `tools: { roll: async ({ amount }) => {
    appendFileSync("executions", amount + "\\n");
    if (amount === 13) process.exit(1);
    return (count += amount);
  } },`;
    const source = TALLY.replace("defineEnvironment }", "defineEnvironment, defineTools }")
      .replace('name: "tally_env",', `name: "tally_env", ${tools}`)
      .replace("snapshot: ()", `${roll} snapshot: ()`);
    await using project = await createProject({ "environment.mjs": source });
    const port = await findFreePort();
    await using server = await serveProject(project, port, { JOURNAL: "sessions.db" });
    const post = (headers: object, method: string, params: object) =>
      fetch(`${server.url}/session/poisoned-0123456789/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
    const call = async (amount: number): Promise<string> => {
      const headers: Record<string, string> = { ...more };
      if ("accept" in more) {
        const client = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
        const begun = await post(headers, "initialize", client);
        headers["mcp-session-id"] = begun.headers.get("mcp-session-id") ?? "";
      }
      return (await post(headers, "tools/call", { name: "roll", arguments: { amount } })).text();
    };
    expect(await call(4)).toMatch(/\b4\b/);
    for (const ran of [2, 3]) {
      await expect.poll(() => call(13).catch(() => executions(project)), { timeout: 20_000 }).toHaveLength(ran);
    }
    await expect.poll(() => call(13).catch(() => "away"), { timeout: 20_000 }).toContain("STEP_CRASHED");
    // Still the session in which 4 were added.
    expect(await call(1)).toMatch(/\b5\b/);
    expect(await executions(project)).toEqual(["4", "13", "13", "1"]);
  },
);

describe("with a journal in memory", () => {
  test.each(["thread", "process"])(
    "a session continues when its isolated %s ends",
    { timeout: 120_000 },
    async (kind) => {
      await using project = await createProject({ "environment.mjs": TALLY });
      const settings = { JOURNAL: "memory", ISOLATION: kind, STEP_TIMEOUT: "5" };
      await using server = await serveProject(project, await findFreePort(), settings);
      await using env = await open(server.url);
      await env.reset();
      const { observation } = await env.step({ amount: 4 });
      expect(await env.tryStep({ amount: 13 })).toMatchObject({
        outcome: "env_error",
        error: { code: "STEP_CRASHED" },
      });
      if (kind === "process") {
        const again = await env.step({ amount: 1 });
        expect(again.observation["pid"]).not.toBe(observation["pid"]);
        process.kill(again.observation["pid"] as number, "SIGKILL");
      } else await env.step({ amount: 1 });
      expect(countOf(await env.step({ amount: 1 }))).toBe(6);
      expect(await executions(project)).toEqual(["4", "13", "13", "1", "1"]);
    },
  );

  test("a session by address continues when its isolated process ends", { timeout: 120_000 }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    const settings = { JOURNAL: "memory", ISOLATION: "process", STEP_TIMEOUT: "5" };
    await using server = await serveProject(project, await findFreePort(), settings);
    await ask(server.url, "reset");
    expect(countOf(await ask(server.url, "step", 4))).toBe(4);
    expect((await ask(server.url, "step", 13)).code).toBe("ISOLATE_LOST");
    expect((await ask(server.url, "step", 13)).code).toBe("ISOLATE_LOST");
    expect((await ask(server.url, "step", 13)).code).toBe("STEP_CRASHED");
    expect(countOf(await ask(server.url, "step", 1))).toBe(5);
  });
});

test("a full disk is an error, and what was stored before is still there", {
  timeout: 60_000,
}, async () => {
  await using project = await createProject();
  const program = `
    import { openSqliteJournal } from ${JSON.stringify(JOURNAL_MODULE)};
    const journal = await openSqliteJournal({ path: process.argv[1] + ".db", durability: process.argv[1], owner: "o" });
    await journal.create("s", "hash");
    let stored = 0;
    let code;
    const put = async (i, size) => journal.commit("s", 1, { put: [["cell" + i, Buffer.alloc(size)]], remove: [] });
    while (stored < 1000 && code === undefined) {
      await put(stored, 20_000).then(() => stored++, (error) => (code = error.code));
    }
    await put("small", 10);
    const cells = (await journal.takeOver("s")).cells.size;
    console.log(JSON.stringify({ code, isComplete: cells === stored + 1 }));
  `;
  for (const durability of ["process", "disk"]) {
    const child = spawn(
      "bash",
      ["-c", 'ulimit -f 1000; exec "$0" --input-type=module -e "$1" "$2"', process.execPath, program, durability],
      {
        cwd: project.dir,
      },
    );
    const [printed] = await Promise.all([text(child.stdout), once(child, "close")]);
    expect(JSON.parse(printed)).toEqual({ code: "JOURNAL_UNAVAILABLE", isComplete: true });
  }
});

const component = await requireRedis();
let redis: TestRedis | undefined;
if (component.available) redis = await startRedis(component.path);
afterAll(() => redis?.[Symbol.asyncDispose]());

describe.skipIf(!component.available)("with a journal in Redis", () => {
  test("a session continues on another server when its own is killed or frozen", { timeout: 120_000 }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    const settings = { JOURNAL: redis?.url ?? "" };
    const [first, second] = [await findFreePort(), await findFreePort()];
    for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
      await using one = await serveProject(project, first, settings);
      await using two = await serveProject(project, second, settings);
      await using gateway = await startGateway(one, "passes");
      await using env = await open(gateway.url);
      await env.reset();
      expect(countOf(await env.step({ amount: 1 }))).toBe(1);
      void one.signal(signal);
      gateway.turn("passes", two);
      gateway.cut();
      expect(countOf(await env.step({ amount: 2 }))).toBe(3);
      if (signal === "SIGSTOP") void one.signal("SIGCONT");
      expect(countOf(await env.step({ amount: 3 }))).toBe(6);
      await env.close();
    }
  });

  test("a session by address continues on another server when its own is killed or frozen", {
    timeout: 120_000,
  }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    const settings = { JOURNAL: redis?.url ?? "", WORKERS: "2" };
    const [first, second] = [await findFreePort(), await findFreePort()];
    for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
      await using one = await serveProject(project, first, settings);
      await using two = await serveProject(project, second, settings);
      expect(countOf(await ask(one.url, "reset"))).toBe(0);
      expect(countOf(await ask(one.url, "step", 1))).toBe(1);
      void one.signal(signal);
      // The lease of a frozen server ends later.
      await expect.poll(() => ask(two.url, "step", 2).then(countOf, String), { timeout: 30_000 }).toBe(3);
      if (signal === "SIGSTOP") void one.signal("SIGCONT");
      expect(countOf(await ask(two.url, "step", 3))).toBe(6);
      // What the frozen server still had is closed.
      if (signal === "SIGSTOP") {
        await expect.poll(() => ask(one.url, "step", 4).then(countOf, String), { timeout: 30_000 }).toBe(10);
      }
    }
  });

  test("a session by address moves with its client, and not to another client while its own is there", {
    timeout: 120_000,
  }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    const settings = { JOURNAL: redis?.url ?? "" };
    await using one = await serveProject(project, await findFreePort(), settings);
    await using two = await serveProject(project, await findFreePort(), settings);
    const pids = new Set([(await ask(one.url, "reset")).observation.pid]);
    for (let round = 1; round <= 6; round++) {
      const { url } = round % 2 === 1 ? two : one;
      let answer: Answer["data"] | undefined;
      // The other server may not know yet that its client has left.
      await expect.poll(async () => (answer = await ask(url, "step", 1)).code, { timeout: 30_000 }).toBeUndefined();
      expect(answer?.observation.count).toBe(round);
      if (answer) pids.add(answer.observation.pid);
    }
    expect(pids.size).toBe(2);
    await using own = await openTestSocket(`${one.url}/session/run-7_worker-3_5f1c9a/ws`);
    await own.ask({ type: "step", data: { amount: 1 } });
    expect(await ask(two.url, "step", 1)).toMatchObject({ code: "SESSION_ELSEWHERE" });
    expect(((await own.ask({ type: "step", data: { amount: 1 } })) as unknown as Answer).data.observation.count).toBe(
      8,
    );
  });

  test("a session moves to the server that its client comes to", { timeout: 120_000 }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    const settings = { JOURNAL: redis?.url ?? "" };
    await using one = await serveProject(project, await findFreePort(), settings);
    await using two = await serveProject(project, await findFreePort(), settings);
    await using gateway = await startGateway(one, "passes");
    await using env = await open(gateway.url);
    const first = (await env.reset()).observation["pid"];
    const pids = new Set([first]);
    for (let round = 1; round <= 6; round++) {
      gateway.turn("passes", round % 2 === 1 ? two : one);
      gateway.cut();
      const { observation } = await env.step({ amount: 1 });
      expect(observation["count"]).toBe(round);
      pids.add(observation["pid"]);
    }
    expect(pids.size).toBe(2);
    expect(await executions(project)).toHaveLength(6);
  });

  test("a connection that is reset while its session is looked up ends no worker", { timeout: 120_000 }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    await using server = await serveProject(project, await findFreePort(), { WORKERS: "2", JOURNAL: redis?.url ?? "" });
    const opened = await openAtBothWorkers(server.url);
    redis?.suspend();
    const sockets = await Promise.all(Array.from({ length: 16 }, () => beginHandshake(server.url)));
    // Each worker has read the handshakes when it answers.
    for (let asked = 0; asked < 16; asked++) await fetch(`${server.url}/health`, { headers: { connection: "close" } });
    for (const socket of sockets) socket.resetAndDestroy();
    for (let asked = 0; asked < 16; asked++) await fetch(`${server.url}/health`, { headers: { connection: "close" } });
    redis?.resume();
    const results = await Promise.all(opened.map(({ env }) => env.step({ amount: 1 })));
    expect(results.map(({ observation }) => observation["pid"])).toEqual(opened.map(({ pid }) => pid));
    await Promise.all(opened.map(({ env }) => env.close()));
  });

  test("an answer is held while Redis is away, and new sessions are refused", { timeout: 120_000 }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    await using server = await serveProject(project, await findFreePort(), { JOURNAL: redis?.url ?? "" });
    await using env = await open(server.url);
    await env.reset();
    await redis?.stop();
    const held = env.step({ amount: 1 });
    await expect.poll(async () => executions(project).catch(() => [])).toHaveLength(1);
    await expect(open(server.url).then((other) => other.reset())).rejects.toMatchObject({
      code: "JOURNAL_UNAVAILABLE",
      message: expect.not.stringContaining("redis:"),
    });
    await redis?.start();
    expect(countOf(await held)).toBe(1);
    expect(countOf(await env.step({ amount: 1 }))).toBe(2);
    expect(await executions(project)).toHaveLength(2);
  });
});
