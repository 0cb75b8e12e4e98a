import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { counterModule, createProject } from "../../../test-support/commands/command-line.js";
import { takeTurn } from "../../../test-support/environments/take-turn.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { fetchAsOperator, OPERATOR_VARIABLES } from "../../../test-support/operator.js";
import { requireEnvoy, requireHaproxy, requireSlurm } from "../../../test-support/requirement.js";
import { connect } from "../../openenv/src/connect.js";
import { renderTarget } from "./render.js";
import { parseTopology } from "./topology.js";

const slurm = await requireSlurm();
const haproxy = await requireHaproxy();
const envoy = await requireEnvoy();
const run = promisify(execFile);
const PATH = [process.env["PATH"], "/usr/sbin", dirname(envoy.path)].join(":");
const env = { ...process.env, ...OPERATOR_VARIABLES, SLURM_CONF: slurm.path, PATH };
const isComplete = slurm.available && haproxy.available && envoy.available;

describe.skipIf(!isComplete)("the script", { timeout: 300_000 }, () => {
  beforeAll(() => takeTurn("slurm"), 600_000);

  test("of many nodes serves sessions of all through the first, and leaves nothing behind", async () => {
    await using job = await submit({ nodes: 2 });
    const { url, ports } = job;
    expect(await job.log()).toContain(`openenv serves at ${url}`);
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(url)));
    await Promise.all(clients.map((client) => client.reset()));
    for (const client of clients) expect((await client.step({ amount: 2 })).observation).toEqual({ count: 2 });
    const taken = ports.map(async (port) => {
      const body = (await (await fetchAsOperator(`http://127.0.0.1:${port}/sessions`)).json()) as {
        sessions: unknown[];
      };
      return body.sessions.length;
    });
    const [first = 0, second = 0] = await Promise.all(taken);
    expect([first + second, Math.min(first, second) > 0]).toEqual([8, true]);
    await Promise.all(clients.map((client) => client.close()));
    await run("scancel", [job.id], { env });
    await job.ends();
  });

  test.each(["haproxy", "envoy"] as const)("shares its hosts with jobs that start with it: %s", async (kind) => {
    const port = await findFreePort();
    // The ports are adjacent, so that the port of one job is the first metrics port that another tries.
    const balancer = { kind, port, metricsPort: port + 1 };
    const jobs = [
      { nodes: 1, amount: "amount * 100" },
      { nodes: 2, amount: "amount", balancer },
      { nodes: 2, amount: "amount * 1000", balancer },
      { nodes: 1, amount: "amount * 10" },
    ];
    const started = await Promise.allSettled(jobs.map(submit));
    try {
      for (const [index, count] of [200, 2, 2000, 20].entries()) {
        const job = started[index];
        if (job?.status !== "fulfilled") throw job?.reason;
        const seen = await Promise.all(Array.from({ length: 8 }, () => playOnce(job.value.url)));
        expect(seen).toEqual(seen.map(() => ({ count })));
        const [, metrics] = /metrics of the balancer at (\S+)/.exec(await job.value.log()) ?? [];
        if (jobs[index]?.balancer) expect(await readText(metrics)).toMatch(/^(haproxy|envoy)_\w+/m);
      }
    } finally {
      for (const job of started) if (job.status === "fulfilled") await job.value[Symbol.asyncDispose]();
    }
  });

  test("of many nodes runs without a server that does not start", async () => {
    // Each node starts the module once; the second one finds the marker file of the first.
    const module = `${counterModule()}
      import { mkdirSync } from "node:fs";
      try { mkdirSync("mark"); } catch { process.exit(3); }`;
    await using job = await submit({ nodes: 2, serving: 1, module });
    await using client = await connect(job.url);
    await client.reset();
    expect((await client.step({ amount: 2 })).observation).toEqual({ count: 2 });
  });

  test("of many nodes continues without a lost node", async () => {
    await using job = await submit({ nodes: 2 });
    const look = async (format: string) =>
      (await run("squeue", ["--noheader", "--jobs", job.id, `--format=${format}`], { env })).stdout.trim();
    const names = (await run("scontrol", ["show", "hostnames", await look("%N")], { env })).stdout.trim().split("\n");
    const update = (state: string) =>
      run("scontrol", ["update", `nodename=${names[1]}`, `state=${state}`, "reason=test"], { env });
    await update("down");
    try {
      await expect.poll(() => look("%T %D"), { timeout: 90_000 }).toBe("RUNNING 1");
      // Slurm removes the node before its processes have ended, and a session may still begin there.
      const serving = async () => (await Promise.all(job.ports.map(health))).filter((status) => status === 200);
      await expect.poll(serving, { timeout: 90_000 }).toHaveLength(1);
      const client = await connect(job.url);
      await client.reset();
      expect((await client.step({ amount: 2 })).observation).toEqual({ count: 2 });
      await client.close();
    } finally {
      // A node that responds again may have resumed by itself, and then the command fails.
      await update("resume").catch(() => {});
    }
    await run("scancel", [job.id], { env });
    await job.ends();
  });

  test.each([1, 2])("of %i nodes lets sessions finish on SIGTERM", async (nodes) => {
    await using job = await submit({ nodes, graceSeconds: 60 });
    const client = await connect(job.url);
    await client.reset();
    // As the scheduler does before the time limit.
    await run("scancel", ["--batch", "--signal=TERM", job.id], { env });
    const statuses = () => Promise.all(job.ports.map((port) => health(port)));
    await expect.poll(async () => (await statuses()).some((status) => status === 503), { timeout: 30_000 }).toBe(true);
    for (const count of [1, 2, 3]) expect((await client.step({ amount: 1 })).observation).toEqual({ count });
    await client.close();
    await job.ends();
  });
});

interface Given {
  nodes: number;
  graceSeconds?: number;
  /** Default: HAProxy at a free port. */
  balancer?: { kind?: "haproxy" | "envoy"; port: number; metricsPort?: number };
  /** The amount that one step of its environment adds. */
  amount?: string;
  module?: string;
  /** The number of its servers that start to listen; default all. */
  serving?: number;
}

/** Submits the script and waits until all its servers answer. */
async function submit(given: Given) {
  const { amount, nodes, graceSeconds = 1, serving = nodes, module = counterModule(amount) } = given;
  const { balancer = { port: await findFreePort() } } = given;
  const project = await createProject({ "server/environment.ts": module });
  const topology = parseTopology({
    name: "test-job",
    directory: ".",
    balancer: { host: "127.0.0.1", ...balancer },
    resources: { memoryMb: 256 },
    graceSeconds,
    variables: { HOST: "127.0.0.1" },
    nodes,
  });
  const script = await project.write("job.sbatch", renderTarget("slurm", topology)["job.sbatch"] ?? "");
  const id = (await run("sbatch", ["--parsable", script], { cwd: project.dir, env })).stdout.trim();
  const queued = async () => (await run("squeue", ["--noheader", "--jobs", id], { env })).stdout;
  const log = () => readFile(join(project.dir, `test-job-${id}.log`), "utf8").catch(() => "");
  const dispose = async () => {
    await run("scancel", [id], { env });
    await expect.poll(queued, { timeout: 90_000 }).toBe("");
    await project[Symbol.asyncDispose]();
  };
  const find = async (pattern: RegExp) => [...(await log()).matchAll(pattern)].map((match) => Number(match[1]));
  /** The URLs of its servers, after the URL that it prints. */
  const known = async () => ({
    entry: (await find(/openenv serves at http:\/\/[^:\s]+:(\d+)/g))[0],
    ports: await find(/counter_env \S+ at http:\/\/[^:\s]+:(\d+)/g),
  });
  const serves = async () => {
    const { entry, ports } = await known();
    if (entry === undefined || ports.length < serving) return false;
    return (await Promise.all([entry, ...ports].map(health))).every((status) => status === 200);
  };
  try {
    await expect.poll(serves, { timeout: 120_000 }).toBe(true);
  } catch (error) {
    const text = await log();
    await dispose();
    throw new Error(`The job does not serve: ${text}`, { cause: error });
  }
  const { entry = 0, ports } = await known();
  return {
    id,
    entry,
    ports,
    log,
    url: `http://127.0.0.1:${entry}`,
    /** Waits until all its processes and files are gone. */
    async ends() {
      await expect.poll(queued, { timeout: 90_000 }).toBe("");
      // The server of a node that the job has lost may end after it.
      const statuses = () => Promise.all([entry, ...ports].map(health));
      await expect.poll(statuses, { timeout: 30_000 }).toEqual([entry, ...ports].map(() => undefined));
    },
    [Symbol.asyncDispose]: dispose,
  };
}

async function playOnce(url: string): Promise<unknown> {
  await using client = await connect(url);
  await client.reset();
  return (await client.step({ amount: 2 })).observation;
}

const readText = async (url = ""): Promise<string> => (await fetch(url)).text();

/** The status of a server's health check; undefined without a response. */
async function health(port: number): Promise<number | undefined> {
  return fetch(`http://127.0.0.1:${port}/health`).then(
    ({ status }) => status,
    () => undefined,
  );
}
