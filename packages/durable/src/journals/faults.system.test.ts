/** What may go wrong with a journal: no acknowledged event is lost or repeated, and each refusal is typed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { createProject, type Project, runCommand } from "../../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { JOURNAL_MODULE } from "../../../../test-support/journals/file-journal.js";
import { startRedis, type TestRedis } from "../../../../test-support/journals/redis.js";
import { fetchAsOperator, OPERATOR_VARIABLES } from "../../../../test-support/operator.js";
import { startGateway } from "../../../../test-support/proxies/gateway.js";
import { requireMount, requireRedis } from "../../../../test-support/requirement.js";
import { openAtBothWorkers } from "../../../../test-support/servers/cluster.js";
import { serveProject } from "../../../../test-support/servers/killable.js";

const unshare = await requireMount();
const BIN = `${import.meta.dirname}/../../../cli/bin/openenv.js`;

/**
 * A tally that returns its process, and writes each execution to a file. The step `wait` ends when the file `go` exists.
 * After `fill` its snapshots are large and its disk is full, until the file `go` exists.
 */
const TALLY = `
import { defineContract, defineEnvironment } from "openenv-ts";
import { appendFileSync, existsSync, rmSync, writeSync, openSync, closeSync } from "node:fs";
import * as z from "zod";
const tally = defineContract({
  name: "tally_env",
  action: z.object({ op: z.string().default("add"), amount: z.int().default(1) }),
  observation: z.object({ pid: z.int(), count: z.int(), now: z.number() }),
});
const go = process.cwd() + "/go";
function fill() {
  const file = openSync(process.env.FILLER, "w");
  try { for (;;) writeSync(file, Buffer.alloc(4096)); } catch {}
  closeSync(file);
  const timer = setInterval(() => {
    if (!existsSync(go)) return;
    rmSync(process.env.FILLER);
    clearInterval(timer);
  }, 20);
}
export default defineEnvironment(tally, () => {
  let count = 0;
  let padding = "";
  const look = () => ({ observation: { pid: process.pid, count, now: Date.now() } });
  return {
    reset: () => ((count = 0), look()),
    step: async ({ op, amount }) => {
      appendFileSync(process.env.EXECUTIONS ?? "executions", amount + "\\n");
      while (op === "wait" && !existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 20));
      if (op === "fill") { padding = "x".repeat(300_000); fill(); }
      count += amount;
      return look();
    },
    snapshot: () => ({ count, padding }),
    restore: (saved) => void ({ count, padding } = saved),
  };
});
`;

const open = (url: string) => connect(url, { resume: true, timeoutMs: 90_000 });
const countOf = ({ observation }: { observation: Record<string, unknown> | null }): unknown => observation?.["count"];
const executions = async ({ dir }: Project): Promise<string[]> =>
  (await readFile(`${dir}/executions`, "utf8").catch(() => "")).trim().split("\n").filter(Boolean);

test("a clock that jumps ends no session and no step", { timeout: 90_000 }, async () => {
  // What a process sees when the time of its machine is set: only the wall clock jumps.
  const jumps = `
    import { readFileSync } from "node:fs";
    const real = Date.now;
    Date.now = () => {
      try {
        return real() + Number(readFileSync("clock", "utf8"));
      } catch {
        return real();
      }
    };`;
  await using project = await createProject({ "environment.mjs": TALLY, "jumps.mjs": jumps });
  const env = {
    JOURNAL: "sessions.db",
    NODE_OPTIONS: `--import ${pathToFileURL(`${project.dir}/jumps.mjs`).href}`,
    STEP_TIMEOUT: "60",
  };
  await using server = await serveProject(project, await findFreePort(), { ...env, ISOLATION: "process" });
  await using gateway = await startGateway(server, "passes");
  await using played = await open(gateway.url);
  await played.reset();
  const year = 365 * 24 * 3_600_000;
  let count = 0;
  for (const jump of [year, -year, 0]) {
    const step = played.step({ op: "wait" });
    await expect.poll(async () => (await executions(project)).length).toBe(count + 1);
    await project.write("clock", String(jump));
    await project.write("go", "");
    const { observation } = await step;
    expect(observation).toMatchObject({ count: ++count, now: expect.any(Number) });
    expect(Math.abs((observation["now"] as number) - Date.now() - jump)).toBeLessThan(60_000);
    gateway.cut();
    expect(await played.step({})).toMatchObject({ observation: { count: ++count }, recovered: true });
    process.kill(observation["pid"] as number, "SIGKILL");
    expect(await played.step({})).toMatchObject({ observation: { count: ++count }, recovered: true });
    await rm(`${project.dir}/go`);
  }
  expect(await executions(project)).toHaveLength(9);
});

describe("a journal in a file", () => {
  const JOURNAL = "sessions.db";

  test("a second server with one file is refused, and continues the sessions of the first after its end", {
    timeout: 120_000,
  }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    const ports = [await findFreePort(), await findFreePort()] as const;
    for (const [round, workers] of ["1", "2"].entries()) {
      const settings = { JOURNAL, WORKERS: workers, MAX_CONCURRENT_ENVS: "64" };
      await using one = await serveProject(project, ports[0], settings);
      await using gateway = await startGateway(one, "passes");
      await using env = await open(gateway.url);
      await env.reset();
      expect(countOf(await env.step({}))).toBe(1);
      const args = ["serve", "environment.mjs", "--port", String(ports[1])];
      const refused = await runCommand(args, { cwd: project.dir, env: settings });
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain("another server that is still running (process ");
      expect(countOf(await env.step({}))).toBe(2);
      gateway.cut();
      const waiting = env.step({});
      if (round > 0) one.command.process.kill("SIGTERM");
      await (round > 0 ? one.command.exited : one.signal("SIGKILL"));
      await using two = await serveProject(project, ports[1], settings);
      gateway.turn("passes", two);
      expect(await waiting).toMatchObject({ observation: { count: 3 }, recovered: true });
      await env.close();
    }
  });

  test("SIGHUP replaces the workers, and sessions continue in the new ones", { timeout: 120_000 }, async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    const settings = { JOURNAL, WORKERS: "2", MAX_CONCURRENT_ENVS: "64", SHUTDOWN_DRAIN: "600" };
    await using server = await serveProject(project, await findFreePort(), settings);
    const opened = await openAtBothWorkers(server.url);
    const envs = opened.map(({ env }) => env);
    const before = new Set(opened.map(({ pid }) => pid));
    const pending = envs.map((env) => env.step({ op: "wait", amount: 10 }));
    await expect.poll(async () => (await executions(project)).length).toBe(8);
    process.kill(server.command.process.pid as number, "SIGHUP");
    await project.write("go", "");
    expect((await Promise.all(pending)).map(countOf)).toEqual(envs.map(() => 10));
    const moved = async (): Promise<boolean> => {
      const results = await Promise.all(envs.map((env) => env.step({ amount: 0 })));
      return results.every(({ observation }) => !before.has(observation["pid"] as number));
    };
    await expect.poll(moved, { timeout: 60_000 }).toBe(true);
    const results = await Promise.all(envs.map((env) => env.step({ amount: 1 })));
    expect(results.map(countOf)).toEqual(envs.map(() => 11));
    // Each step ran once.
    const amounts = (await executions(project)).filter((amount) => amount !== "0");
    expect(amounts).toEqual([...Array(8).fill("10"), ...Array(8).fill("1")]);
    await Promise.all(envs.map((env) => env.close()));
  });

  describe.skipIf(!unshare.available)("on a separate file system", () => {
    /** Runs a shell whose mounts no other process sees. */
    const inside = (project: Project, script: string, env: Record<string, string>) => {
      const child = spawn(unshare.path, ["-rm", "bash", "-c", script, process.execPath, BIN], {
        cwd: project.dir,
        env: { ...process.env, ...env },
        detached: true,
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (chunk) => (output += chunk));
      const ended = once(child, "close");
      return {
        output: () => output,
        ended,
        async [Symbol.asyncDispose]() {
          try {
            process.kill(-(child.pid ?? 0), "SIGKILL");
          } catch {}
          await ended;
        },
      };
    };

    test("a full disk holds the answer until there is room, refuses new sessions, and loses nothing", {
      timeout: 90_000,
    }, async () => {
      await using project = await createProject({ "environment.mjs": TALLY });
      const port = await findFreePort();
      const folder = `${project.dir}/small`;
      const env = {
        FOLDER: folder,
        FILLER: `${folder}/filler`,
        EXECUTIONS: `${project.dir}/executions`,
        JOURNAL: `${folder}/${JOURNAL}`,
      };
      const mount = "mkdir small; mount -t tmpfs -o size=4m tmpfs small || exit 9";
      await using shell = inside(project, `${mount}; "$0" "$1" serve environment.mjs --port ${port}`, env);
      const url = `http://127.0.0.1:${port}`;
      await expect.poll(() => shell.output(), { timeout: 30_000 }).toContain(`:${port}`);
      await using env1 = await open(url);
      const { pid } = (await env1.reset()).observation;
      expect(countOf(await env1.step({ amount: 4 }))).toBe(4);
      let isAnswered = false;
      const held = env1.step({ op: "fill", amount: 2 }).finally(() => (isAnswered = true));
      await expect.poll(() => executions(project)).toHaveLength(2);
      const refused = () =>
        open(url)
          .then((other) => other.reset())
          .then(
            () => "opened",
            (error: { code: string }) => error.code,
          );
      await expect.poll(refused).toBe("JOURNAL_UNAVAILABLE");
      expect(isAnswered).toBe(false);
      await project.write("go", "");
      expect(countOf(await held)).toBe(6);
      process.kill(pid as number, "SIGKILL");
      expect(await env1.step({ amount: 1 })).toMatchObject({ observation: { count: 7 }, recovered: true });
      expect(await executions(project)).toEqual(["4", "2", "1"]);
    });

    test("a journal on a disk that is read-only is refused at the start", { timeout: 60_000 }, async () => {
      await using project = await createProject({ "environment.mjs": TALLY });
      const mount = "mkdir -p ro; mount -t tmpfs tmpfs ro || exit 9";
      const run = `"$0" "$1" serve environment.mjs --port ${await findFreePort()}`;
      const remount = "mount -o remount,ro tmpfs ro";
      await using empty = inside(project, `${mount}; ${remount}; ${run}`, { JOURNAL: `ro/${JOURNAL}` });
      const script = `import { openSqliteJournal } from "${JOURNAL_MODULE}"; await (await openSqliteJournal({ path: "ro/${JOURNAL}", durability: "process", owner: "o" })).close()`;
      const write = `"$0" --input-type=module -e '${script}'`;
      await using existing = inside(project, `${mount}; ${write}; ${remount}; ${run}`, {
        JOURNAL: `ro/${JOURNAL}`,
      });
      for (const shell of [empty, existing]) {
        expect((await shell.ended)[0]).not.toBe(0);
        expect(shell.output()).toMatch(
          /JOURNAL must name a file of this server on a local disk, not ".*ro\/sessions\.\w+"/,
        );
      }
    });
  });
});

const component = await requireRedis();
let redis: TestRedis | undefined;
if (component.available) redis = await startRedis(component.path);
afterAll(() => redis?.[Symbol.asyncDispose]());

/** Ends the leases of all servers, as a clock of Redis does that jumps forward. */
async function endLeases(): Promise<void> {
  const script = "for _, key in ipairs(redis.call('KEYS', 'openenv:journal:lease:*')) do redis.call('DEL', key) end";
  const socket = createConnection({ port: Number(new URL(redis?.url ?? "").port), host: "127.0.0.1" });
  await once(socket.end(`EVAL "${script}" 0\r\n`).resume(), "close");
}

test.skipIf(!component.available)(
  "a server whose lease ends in the middle of a step sends nothing of it, and closes its instance",
  async () => {
    await using project = await createProject({ "environment.mjs": TALLY });
    const settings = { ...OPERATOR_VARIABLES, JOURNAL: redis?.url ?? "" };
    await using one = await serveProject(project, await findFreePort(), settings);
    await using two = await serveProject(project, await findFreePort(), settings);
    await using gateway = await startGateway(one, "passes");
    await using env = await open(gateway.url);
    await env.reset();
    const { pid } = (await env.step({ amount: 1 })).observation;
    const step = env.step({ op: "wait", amount: 10 });
    await expect.poll(async () => (await executions(project)).length).toBe(2);
    gateway.turn("passes", two);
    gateway.cut();
    // The first server renews its lease from time to time.
    const taken = async (): Promise<number> => {
      await endLeases();
      return (await executions(project)).length;
    };
    await expect.poll(taken, { timeout: 30_000 }).toBe(3);
    await project.write("go", "");
    const { observation } = await step;
    expect(observation["count"]).toBe(11);
    expect(observation["pid"]).not.toBe(pid);
    const sessionsOf = async ({ url }: { url: string }) =>
      ((await (await fetchAsOperator(`${url}/sessions`)).json()) as { sessions: object[] }).sessions.length;
    await expect.poll(() => sessionsOf(one)).toBe(0);
    expect(await sessionsOf(two)).toBe(1);
    expect(countOf(await env.step({ amount: 1 }))).toBe(12);
    expect(await executions(project)).toEqual(["1", "10", "10", "1"]);
  },
  120_000,
);
