/** What becomes of a server whose event loop blocks, that is paused, or whose supervisor is killed. */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { createProject, type Running, startCommand } from "../../../test-support/commands/command-line.js";
import { processesOfGroup } from "../../../test-support/commands/processes.js";
import { openHttp, stepHttp } from "../../../test-support/deploy/balanced-sessions.js";
import { fetchAsOperator } from "../../../test-support/operator.js";
import { openAll, RESET, startCluster, step, until, WHERE } from "../../../test-support/servers/cluster.js";
import { openTestSocket, type TestSocket } from "../../../test-support/sockets/socket.js";

/** The actions of a step that ends its process, and of one that never returns. */
const ENDS = 13;
const BLOCKS = 14;

interface Line {
  level: number;
  msg: string;
  session?: string;
  environment?: string;
  call?: string;
  blockedMs?: number;
}

const linesOf = ({ stderr }: Running): Line[] =>
  stderr
    .split("\n")
    // The last part has no end yet.
    .slice(0, -1)
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));

/** How a new connection is answered: with a status, not in time, or by the system, which refuses it. */
async function askHealth(url: string): Promise<number | "late" | "refused"> {
  const headers = { connection: "close" };
  return fetch(`${url}/health`, { headers, signal: AbortSignal.timeout(400) }).then(
    ({ status }) => status,
    (error: Error) => (error.name === "TimeoutError" ? "late" : "refused"),
  );
}

describe("a step that never returns, under openenv serve with its one worker", { timeout: 120_000 }, () => {
  test("is named in the log; the worker is replaced while connections wait, and its sessions end", async () => {
    await using cluster = await startCluster({ WORKER_TIMEOUT: "5" });
    const sessions = await openAll(cluster.url, 3);
    await using env = await connect(cluster.url);
    await env.reset();
    const { header } = await openHttp(cluster.url);
    const overHttp = () => stepHttp(cluster.url, { "openenv-session": header }, { amount: 1 });
    expect(await overHttp()).toMatchObject({ status: 200 });
    const { sessions: listed } = await fetchAsOperator(`${cluster.url}/sessions`).then((answer) => answer.json());
    const ids = (listed as { session_id: string }[]).map(({ session_id }) => session_id);
    sessions[0]?.socket.send(step(BLOCKS));
    const lost = expect(env.step({ amount: 1 })).rejects.toMatchObject({
      name: "ConnectionError",
      code: "SESSION_LOST",
      outcome: "lost",
    });
    const answers = new Set<number | "late" | "refused">();
    while (!answers.has("late")) answers.add(await askHealth(cluster.url));
    answers.delete(200);
    while (!answers.has(200)) answers.add(await askHealth(cluster.url));
    expect(answers).toEqual(new Set(["late", 200]));
    for (const { socket } of sessions) expect((await socket.closed).code).toBe(1006);
    await lost;
    expect(await overHttp()).toMatchObject({ status: 404, body: { code: "SESSION_ERROR" } });
    await env.reset();
    expect((await env.step({ amount: 2 })).reward).toBe(2);
    const [fresh] = await openAll(cluster.url, 1);
    expect(await fresh?.socket.ask(step(1))).toMatchObject({ data: { observation: { count: 1 } } });
    await fresh?.socket[Symbol.asyncDispose]();

    await cluster.command.printed(/a worker exited/);
    const lines = linesOf(cluster.command);
    const [blocked] = lines.filter(({ msg }) => /a call blocks the event loop/.test(msg));
    expect(blocked).toMatchObject({ level: 50, environment: "where_env", call: "step", blockedMs: 2_000 });
    expect(ids.filter((id) => id.startsWith(`${blocked?.session}-`))).toHaveLength(1);
    expect(lines.filter(({ msg }) => /a worker does not respond; replacing it/.test(msg))).toHaveLength(1);
    expect(lines.filter(({ msg }) => /a worker exited/.test(msg))).toHaveLength(1);
    // The id is what opens a session.
    expect(ids.filter((id) => lines.some(({ session }) => session === id))).toEqual([]);
  });

  test("does not keep the server from ending by a signal", async () => {
    const cluster = await startCluster({ SHUTDOWN_GRACE: "0.5" });
    const [session] = await openAll(cluster.url, 1);
    session?.socket.send(step(BLOCKS));
    await cluster.command.printed(/a call blocks the event loop/);
    await cluster[Symbol.asyncDispose]();
    expect(await cluster.command.exited).toBe(0);
  });
});

describe("a server that an operator has paused", { timeout: 120_000 }, () => {
  test.each(["1", "2"])(
    "opens no session when its blocked workers (%s) are replaced, for those that waited",
    async (WORKERS) => {
      await using cluster = await startCluster({ WORKERS, WORKER_TIMEOUT: "6" });
      // The system says which worker accepts a connection.
      const workers = new Map<number, TestSocket>();
      while (workers.size < Number(WORKERS)) {
        for (const { socket, pid } of await openAll(cluster.url, 8)) workers.set(pid, socket);
      }
      await fetchAsOperator(`${cluster.url}/sessions/pause`, {}, "POST");
      for (const socket of workers.values()) socket.send(step(BLOCKS));
      const blocked = () => linesOf(cluster.command).filter(({ msg }) => /a call blocks/.test(msg)).length;
      await until(() => blocked() >= workers.size);
      // The system accepts these connections, and a worker that replaces another takes them as soon as it listens.
      const refusals = Array.from({ length: 40 }, async () => {
        await using socket = await openTestSocket(`${cluster.url}/ws`);
        return await socket.ask(RESET);
      });
      for (const refusal of await Promise.all(refusals)) {
        expect(refusal).toMatchObject({
          data: { code: "CAPACITY_REACHED", message: expect.stringContaining("paused") },
        });
      }
      const { sessions: left } = await fetchAsOperator(`${cluster.url}/sessions`).then((answer) => answer.json());
      expect(left).toEqual([]);
      await expect.poll(() => askHealth(cluster.url)).toBe(503);
    },
  );

  test("notifies a starting worker before it serves", async () => {
    await using project = await createProject();
    await using cluster = await startCluster({ WORKERS: "2", TOLD: join(project.dir, "reply") });
    const sessions = await openAll(cluster.url, 8);
    await project.write("reply", "");
    sessions[0]?.socket.send(step(ENDS));
    await cluster.command.printed(/a worker exited/);
    const pause = async () => (await fetchAsOperator(`${cluster.url}/sessions/pause`, {}, "POST")).status;
    const capacity = async () => (await cluster.capacity().catch(() => undefined))?.max_sessions;
    // It serves when it has been told; its module may listen too late for the first time.
    await until(async () => (await pause()) === 200 && (await capacity()) === 200);
    const refusals = Array.from({ length: 40 }, async () => {
      await using socket = await openTestSocket(`${cluster.url}/ws`);
      return await socket.ask(RESET);
    });
    for (const refusal of await Promise.all(refusals)) expect(refusal).toMatchObject({ type: "error" });
  });
});

test("the program of an image has its single worker replaced after an endless loop", async () => {
  const app = await readFile(join(import.meta.dirname, "../../cli/templates/env/server/app.ts"), "utf8");
  await using project = await createProject({ "environment.js": WHERE, "app.mjs": app });
  const env = { WORKERS: "1", WORKER_TIMEOUT: "3", PORT: "0" };
  await using running = startCommand(["run", "app.mjs"], { cwd: project.dir, env });
  const [, url = ""] = await running.printed(/at (http:\S+)/);
  const [session] = await openAll(url, 1);
  session?.socket.send(step(BLOCKS));
  await running.printed(/a worker exited; starting a new one/);
  const [fresh] = await openAll(url, 1);
  expect(fresh?.pid).not.toBe(session?.pid);
  await fresh?.socket[Symbol.asyncDispose]();
}, 120_000);

test("serve() in a program names what blocks its event loop, and says when it runs again", async () => {
  const program = `
    import { defineContract, defineEnvironment } from "openenv-ts";
    import { serve } from "openenv-ts/server";
    import { existsSync } from "node:fs";
    import * as z from "zod";
    const contract = defineContract({ name: "slow_env", action: z.object({}), observation: z.object({}) });
    const block = (file) => { while (!existsSync(file)); };
    const server = await serve(defineEnvironment(contract, () => ({
      reset: async () => {
        await new Promise(setImmediate);
        block("end-reset");
        return { observation: {} };
      },
      step: () => {
        block("end-step");
        return { observation: {} };
      },
    })), { port: 0 });
    console.log("at " + server.url);
  `;
  await using project = await createProject({ "app.mjs": program });
  await using running = startCommand(["run", "app.mjs"], { cwd: project.dir });
  const [, url = ""] = await running.printed(/at (http:\S+)/);
  await using socket = await openTestSocket(`${url}/ws`);
  const named = { environment: "slow_env", session: expect.stringMatching(/^[0-9a-f]{8}$/) };
  for (const [call, message] of [
    ["reset", /^code outside of a call blocks/],
    ["step", /^a call blocks/],
  ] as const) {
    const found = () => linesOf(running).filter((line) => line.call === call);
    const answer = socket.ask(call === "reset" ? RESET : { type: "step", data: {} });
    await until(() => found().length > 0);
    expect(found()[0]).toMatchObject({ ...named, level: 50, msg: expect.stringMatching(message) });
    await project.write(`end-${call}`, "");
    expect(await answer).toMatchObject({ type: "observation" });
    await until(() => found().at(-1)?.level === 40);
    expect(found().at(-1)).toMatchObject({ ...named, msg: "the event loop runs again" });
  }
}, 120_000);

test("a blocked loop is ascribed to the view or the tasks that block it, not to the session that was served last", async () => {
  const program = `
    import { defineContract, defineEnvironment } from "openenv-ts";
    import { serve } from "openenv-ts/server";
    import { existsSync } from "node:fs";
    import * as z from "zod";
    const block = (file) => { while (!existsSync(file)); };
    const start = async (name, more, tasks) => {
      const contract = defineContract({ name, action: z.object({}), observation: z.object({}) });
      const plain = { reset: () => ({ observation: {} }), step: () => ({ observation: {} }) };
      return serve(defineEnvironment(contract, () => ({ ...plain, ...more }), { tasks }), { port: 0 });
    };
    let views = 0;
    const slow = await start("slow_env", {
      render: () => { views++; if (views === 2) block("end-render"); return []; },
      actions: () => { if (views === 3) block("end-actions"); return []; },
    }, { count: () => { block("end-tasks"); return 1; } });
    const other = await start("other_env", {}, undefined);
    console.log("at " + slow.url + " and " + other.url + ".");
  `;
  await using project = await createProject({ "app.mjs": program });
  await using running = startCommand(["run", "app.mjs"], { cwd: project.dir });
  const [, url = "", otherUrl = ""] = await running.printed(/at (http:\S+) and (http:\S+)\./);
  await using viewed = await openTestSocket(`${url}/ws?view=1`);
  await using other = await openTestSocket(`${otherUrl}/ws`);
  await viewed.ask(RESET);
  const countTasks = async () => {
    const body = JSON.stringify({ split: "train" });
    const headers = { "content-type": "application/json" };
    return (await fetch(`${url}/slow_env/num_tasks`, { method: "POST", headers, body })).json();
  };
  for (const call of ["render", "actions", "tasks"]) {
    expect(await other.ask(RESET)).toMatchObject({ type: "observation" });
    const answer = call === "tasks" ? countTasks() : viewed.ask({ type: "step", data: {} });
    const found = () => linesOf(running).find((line) => line.call === call);
    await until(() => found() !== undefined);
    expect(found()).toMatchObject({ level: 50, msg: expect.stringMatching(/^a call blocks/), environment: "slow_env" });
    expect(found()?.session).toEqual(call === "tasks" ? undefined : expect.stringMatching(/^[0-9a-f]{8}$/));
    await project.write(`end-${call}`, "");
    expect(await answer).toMatchObject(call === "tasks" ? { num_tasks: 1 } : { type: "observation" });
  }
  expect(linesOf(running).filter(({ environment }) => environment === "other_env")).toEqual([]);
}, 120_000);

describe.skipIf(!existsSync("/proc/self/stat"))("a server with workers", { timeout: 180_000 }, () => {
  test("loses nothing when all of it is paused for longer than WORKER_TIMEOUT", async () => {
    await using cluster = await startCluster({ WORKERS: "2", WORKER_TIMEOUT: "2" }, { detached: true });
    const sessions = await openAll(cluster.url, 8);
    const pids = processesOfGroup(cluster.command.process.pid as number);
    expect(pids).toHaveLength(3);
    for (let pauses = 0; pauses < 2; pauses++) {
      for (const pid of pids) process.kill(pid, "SIGSTOP");
      await sleep(3_000);
      for (const pid of pids) process.kill(pid, "SIGCONT");
      await sleep(2_500);
    }
    for (const { socket } of sessions) {
      expect(await socket.ask(step(1))).toMatchObject({ data: { observation: { count: 1 } } });
      await socket[Symbol.asyncDispose]();
    }
    expect(linesOf(cluster.command).filter(({ level }) => level >= 50)).toEqual([]);
  });

  test("loses nothing when the clock is set, again and again", async () => {
    await using project = await createProject({
      "clock.mjs": `
        const now = Date.now;
        let offset = 0;
        Date.now = () => now() + offset;
        setInterval(() => (offset += (offset % 2 === 0 ? 1 : -1) * 3_600_001), 300).unref();
      `,
    });
    const NODE_OPTIONS = `--import=${JSON.stringify(join(project.dir, "clock.mjs"))}`;
    await using cluster = await startCluster({ WORKERS: "2", WORKER_TIMEOUT: "2", NODE_OPTIONS });
    const sessions = await openAll(cluster.url, 8);
    await sleep(5_000);
    for (const { socket } of sessions) {
      expect(await socket.ask(step(1))).toMatchObject({ data: { observation: { count: 1 } } });
      await socket[Symbol.asyncDispose]();
    }
    expect(linesOf(cluster.command).filter(({ level }) => level >= 50)).toEqual([]);
  });

  test.each([
    { flags: [], env: { WORKERS: "3" } },
    { flags: [], env: { WORKERS: "2", ISOLATION: "process" } },
    { flags: ["--watch"], env: { WORKERS: "1" } },
  ])("leaves nothing behind when its supervisor is killed during an endless loop: %o", async ({ flags, env }) => {
    const folder = await mkdtemp(join(tmpdir(), "guard-"));
    await using project = await createProject({ "environment.mjs": WHERE });
    const args = ["serve", "environment.mjs", "--port", "0", ...flags];
    const running = startCommand(args, { cwd: project.dir, env: { ...env, TMPDIR: folder }, detached: true });
    const [, url = ""] = await running.printed(/at (http:\S+)/);
    const sessions = await openAll(url, 4);
    for (const { socket } of sessions) socket.send(step(BLOCKS));
    // A worker or host that had the step before may still answer; these never will.
    await sleep(1_000);
    const group = running.process.pid as number;
    expect(processesOfGroup(group).length).toBeGreaterThan(Number(env.WORKERS));
    running.process.kill("SIGKILL");
    await until(() => processesOfGroup(group).length === 0);
    expect(await readdir(folder)).toEqual([]);
    await expect.poll(() => askHealth(url)).toBe("refused");
    await running.exited;
    await rm(folder, { recursive: true });
  });
});
