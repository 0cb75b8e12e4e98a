import { execFile } from "node:child_process";
import { chmod, readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { checkProvider, connectStarted, slurmProvider } from "@openenv-ts/providers";
import { connect, connectVector } from "openenv-ts/client";
import { renderCheckReport } from "openenv-ts/testing";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { counterModule, createProject, type Project } from "../../../../test-support/commands/command-line.js";
import { startSlurmQueue } from "../../../../test-support/deploy/slurm-queue.js";
import { takeTurn } from "../../../../test-support/environments/take-turn.js";
import { requireSlurm } from "../../../../test-support/requirement.js";

const slurm = await requireSlurm();
const onLoopback = (options: object = {}) => slurmProvider({ host: "127.0.0.1", ...options });
const HELLO = counterModule().replace("export default", 'console.log("hello " + process.env.HELLO);\nexport default');

const run = async (command: string, ...args: string[]) => (await promisify(execFile)(command, args)).stdout.trim();
const lostWith = (message: RegExp) => ({ code: "SESSION_LOST", message: expect.stringMatching(message) });
const jobs = () => run("squeue", "--noheader", "--format=%j %T %r");

describe.skipIf(!slurm.available)("the Slurm provider", () => {
  let project: Project;
  const at = (path = "") => ({ directory: `${project.dir}/${path}` });
  beforeAll(() => takeTurn("slurm"), 600_000);
  beforeAll(async () => {
    vi.stubEnv("SLURM_CONF", slurm.path);
    project = await createProject({
      "environment.ts": HELLO,
      "throws/environment.ts": 'throw new Error("no model file");',
      "hangs/environment.ts": counterModule().replace("export default", "for (;;);\nexport default"),
    });
    return async () => {
      await project[Symbol.asyncDispose]();
      vi.unstubAllEnvs();
    };
  });
  afterEach(async () => {
    expect(await jobs()).toBe("");
  });

  test("it keeps the promises of every provider", async () => {
    const report = await checkProvider({
      create: onLoopback,
      works: { ...at(), env: { HELLO: "world" } },
      actions: [{ amount: 1 }],
      writes: "hello world",
      unavailable: () => ({
        ...onLoopback(),
        start: async (spec) => {
          vi.stubEnv("SLURM_CONF", "/nonesuch/slurm.conf");
          try {
            return await onLoopback().start(spec);
          } finally {
            vi.stubEnv("SLURM_CONF", slurm.path);
          }
        },
      }),
      broken: {
        "no such folder": { spec: at("nowhere"), code: "SOURCE_NOT_FOUND" },
        "exits at once": { spec: at("throws"), code: "START_FAILED", message: /FAILED[\s\S]*no model file/ },
        "never listens": { spec: { ...at("hangs"), timeoutMs: 15_000 }, code: "START_TIMEOUT", message: /RUNNING/ },
      },
    });
    expect(report.passed, renderCheckReport(report)).toBe(true);
  }, 300_000);

  test("a server on each of several nodes, behind one URL or in a vector environment", async () => {
    await using server = await onLoopback({ nodes: 2 }).start({ ...at(), replicas: 2 });
    expect(await run("squeue", "--noheader", "--format=%D %N")).toBe("2 n[1-2]");
    const sessions = await Promise.all(Array.from({ length: 4 }, () => connect(server.url)));
    for (const env of sessions) {
      await env.reset();
      expect((await env.step({ amount: 2 })).observation).toEqual({ count: 2 });
      await env.close();
    }
    await server.close();
    await using envs = await connectVector(onLoopback(), { size: 3, servers: 2, start: at() });
    expect((await envs.reset()).map((result) => result?.outcome)).toEqual(["ok", "ok", "ok"]);
  }, 120_000);

  test("a job that stays pending is cancelled, and the error has the scheduler's reason", async () => {
    const start = onLoopback({ nodes: 50 }).start({ ...at(), timeoutMs: 15_000 });
    await expect(start).rejects.toMatchObject({
      code: "START_TIMEOUT",
      message: expect.stringMatching(/PENDING \(PartitionConfig\)/),
    });
  }, 90_000);

  test("the error for a queue without free nodes has the scheduler's reason", async () => {
    const taken = ["--nodes=2", "--ntasks-per-node=2", "--output=/dev/null", "--wrap=sleep 300"];
    const isFull = async (): Promise<boolean> =>
      /PENDING (Resources|Priority)/.test(await run("sbatch", ...taken).then(jobs));
    await expect.poll(isFull, { timeout: 20_000, interval: 1_500 }).toBe(true);
    try {
      const start = onLoopback().start({ ...at(), timeoutMs: 15_000 });
      await expect(start).rejects.toMatchObject({
        code: "START_TIMEOUT",
        message: expect.stringMatching(/PENDING \((Resources|Priority)\)/),
      });
      expect(await jobs()).not.toContain("openenv-");
    } finally {
      await run("scancel", "--name=wrap");
      await expect.poll(jobs, { timeout: 30_000 }).toBe("");
    }
  }, 90_000);

  test("the error for a rejected job has the scheduler's message", async () => {
    const start = onLoopback({ partition: "nonesuch" }).start(at());
    await expect(start).rejects.toMatchObject({ code: "START_FAILED", message: expect.stringMatching(/partition/i) });
  }, 60_000);

  test("the timeout error for a full queue has the scheduler's message", async () => {
    await using queue = await startSlurmQueue(slurm.path, 2);
    vi.stubEnv("SLURM_CONF", queue.config);
    try {
      for (const _ of ["first", "second"]) await run("sbatch", "--output=/dev/null", "--wrap=true");
      const start = onLoopback().start({ ...at(), timeoutMs: 15_000 });
      await expect(start).rejects.toMatchObject({
        code: "START_TIMEOUT",
        message: expect.stringContaining("unable to accept job"),
      });
      expect((await jobs()).split("\n")).toHaveLength(2);
    } finally {
      vi.stubEnv("SLURM_CONF", slurm.path);
    }
  }, 90_000);

  test("a submission that was accepted but whose response was lost is cancelled", async () => {
    const real = await run("sh", "-c", "command -v sbatch");
    const lost = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation";
    await using tools = await createProject({ sbatch: `#!/bin/sh\n${real} "$@"\necho "${lost}" >&2\nexit 1\n` });
    await chmod(`${tools.dir}/sbatch`, 0o755);
    const path = process.env["PATH"] ?? "";
    vi.stubEnv("PATH", `${tools.dir}:${path}`);
    try {
      const start = onLoopback().start(at("hangs"));
      await expect(start).rejects.toMatchObject({
        code: "START_FAILED",
        message: expect.stringContaining("Socket timed out"),
      });
    } finally {
      vi.stubEnv("PATH", path);
    }
  }, 60_000);

  test("jobs that the user's settings of squeue and scancel exclude are still cancelled", async () => {
    const server = await onLoopback().start(at());
    vi.stubEnv("SQUEUE_STATES", "COMPLETED");
    vi.stubEnv("SCANCEL_STATE", "PENDING");
    try {
      await server.close();
    } finally {
      vi.stubEnv("SQUEUE_STATES", undefined);
      vi.stubEnv("SCANCEL_STATE", undefined);
    }
  }, 60_000);

  test("a server gets the configured cores", async () => {
    await using server = await onLoopback({ cpus: 2, sharedDir: `${project.dir}/shared` }).start(at());
    const [job = ""] = await readdir(`${project.dir}/shared`);
    expect(await readFile(`${project.dir}/shared/${job}/job.sh`, "utf8")).toMatch(/srun .*--cpus-per-task=2 /);
    await using env = await connect(server.url);
    await env.reset();
  }, 60_000);

  describe("a node that is lost", () => {
    let node = "";
    const lose = async (name?: string): Promise<void> => {
      node = name ?? (await run("squeue", "--noheader", "--format=%N"));
      await run("scontrol", "update", `nodename=${node}`, "state=down", "reason=test");
    };
    afterEach(async () => {
      // A node that responds again may have resumed by itself, and then the command fails.
      await run("scontrol", "update", `nodename=${node}`, "state=resume").catch(() => {});
      await expect.poll(() => run("sinfo", "--noheader", "--format=%T"), { timeout: 20_000 }).toBe("idle");
    });

    test("while its server starts: the start fails at once with the scheduler's reason", async () => {
      const start = onLoopback().start({ ...at("hangs"), timeoutMs: 60_000 });
      const failed = expect(start).rejects.toMatchObject({
        code: "START_FAILED",
        message: expect.stringMatching(/NODE_FAIL/),
      });
      await expect.poll(jobs, { timeout: 20_000 }).toContain("RUNNING");
      await lose();
      await failed;
    }, 90_000);

    test("while it serves: its session is lost with the scheduler's reason, and close() leaves nothing", async () => {
      await using env = await connectStarted(await onLoopback().start(at()), undefined, {});
      await using other = await connect(env.url);
      await env.reset();
      await other.reset();
      await lose();
      await expect.poll(() => env.sessionLost && other.sessionLost, { timeout: 60_000 }).toBe(true);
      await expect(env.step({ amount: 1 })).rejects.toMatchObject(lostWith(/slurm: Job \d+ is NODE_FAIL/));
      await expect(env.reset()).rejects.toThrow(/slurm: Job \d+ is NODE_FAIL/);
      await expect(other.step({ amount: 1 })).rejects.toMatchObject({ code: "SESSION_LOST" });
      await expect.poll(() => env.logs(), { timeout: 20_000 }).toContain("is NODE_FAIL");
    }, 120_000);

    test("one of several: its sessions are lost with the reason, and the others continue", async () => {
      const options = { size: 2, ownSockets: true, start: { ...at(), replicas: 2 } };
      await using envs = await connectVector(onLoopback({ nodes: 2 }), options);
      await envs.reset();
      // The other node runs the script of the job.
      await lose("n2");
      const outcomes = async () => {
        const results = await envs.step(Array(2).fill({ amount: 1 }));
        return results.flatMap((result) => (result && "error" in result ? [result.error] : []));
      };
      await expect.poll(async () => (await outcomes()).length, { timeout: 60_000 }).toBe(1);
      expect(await outcomes()).toMatchObject([
        lostWith(/slurm: Job \d+ has lost 1 of its 2 nodes and continues on n1/),
      ]);
    }, 120_000);
  });

  test("a job that is cancelled while it runs: its session is lost with the scheduler's reason", async () => {
    await using env = await connectStarted(await onLoopback().start(at()), undefined, {});
    await using other = await connect(env.url);
    await env.reset();
    await other.reset();
    await run("scancel", ...(await run("squeue", "--noheader", "--format=%A")).split("\n"));
    await expect.poll(() => env.sessionLost && other.sessionLost, { timeout: 60_000 }).toBe(true);
    await expect(env.step({ amount: 1 })).rejects.toMatchObject(lostWith(/slurm: Job \d+ is CANCELLED/));
    await expect(other.step({ amount: 1 })).rejects.toMatchObject({ code: "SESSION_LOST" });
    await expect.poll(() => env.logs(), { timeout: 20_000 }).toContain("is CANCELLED");
  }, 120_000);

  test("costs the scheduler what the design says", async () => {
    const path = process.env["PATH"] ?? "";
    const names = ["sbatch", "scancel", "squeue", "scontrol", "sinfo"];
    const wrappers = names.map(async (name) => {
      const real = await run("sh", "-c", `command -v ${name}`);
      return [name, `#!/bin/sh\necho ${name} >> "$(dirname "$0")/calls"\nexec ${real} "$@"\n`];
    });
    await using tools = await createProject(Object.fromEntries(await Promise.all(wrappers)));
    for (const name of names) await chmod(`${tools.dir}/${name}`, 0o755);
    vi.stubEnv("PATH", `${tools.dir}:${path}`);
    const startedAt = Date.now();
    try {
      const server = await onLoopback().start(at());
      await server.close();
    } finally {
      vi.stubEnv("PATH", path);
    }
    const seconds = (Date.now() - startedAt) / 1_000;
    const calls = (await readFile(`${tools.dir}/calls`, "utf8")).trim().split("\n");
    const count = (name: string) => calls.filter((one) => one === name).length;
    expect([count("sbatch"), count("sinfo")]).toEqual([1, 0]);
    expect(count("scancel")).toBeLessThanOrEqual(1 + seconds / 10);
    // Polled once a second until the servers listen, and once until one has answered.
    expect(count("scontrol")).toBeLessThanOrEqual(seconds + 2);
    // The pause grows: eight requests in the first three seconds, then one every two seconds.
    expect(count("squeue")).toBeLessThanOrEqual(8 + seconds / 2);
  }, 60_000);
});

test.each([{ nodes: 0 }, { cpus: 1.5 }, { partition: "a b" }])("invalid options are rejected: %o", (options) => {
  expect(() => slurmProvider(options)).toThrow(Object.keys(options)[0]);
});
