import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { counterModule, createProject } from "../../../test-support/command-line.js";
import { requireHaproxy, requireSlurm } from "../../../test-support/requirement.js";
import { connect } from "../../connect.js";
import { findFreePort } from "../../util/free-port.js";
import { parseTopology } from "../topology.js";
import { renderTarget } from "./render.js";

const slurm = await requireSlurm();
const haproxy = await requireHaproxy();
const run = promisify(execFile);
const env = { ...process.env, SLURM_CONF: slurm.path, PATH: `${process.env["PATH"]}:/usr/sbin` };
const jobs: string[] = [];
afterAll(async () => {
  if (jobs.length > 0) await run("scancel", jobs, { env });
});

describe.skipIf(!slurm.available || !haproxy.available)("the script of many nodes", () => {
  test("serves sessions of all nodes through the first, and leaves nothing behind", { timeout: 120_000 }, async () => {
    await using project = await createProject({ "server/environment.ts": counterModule() });
    const topology = parseTopology({
      name: "test-job",
      directory: ".",
      nodes: 2,
      port: await findFreePort(),
      balancer: { host: "127.0.0.1", port: await findFreePort() },
      resources: { memoryMb: 256 },
      graceSeconds: 1,
      variables: { HOST: "127.0.0.1" },
    });
    const script = await project.write("job.sbatch", renderTarget("slurm", topology)["job.sbatch"] ?? "");
    const { stdout } = await run("sbatch", ["--parsable", script], { cwd: project.dir, env });
    const job = stdout.trim();
    jobs.push(job);
    const url = `http://127.0.0.1:${topology.balancer.port}`;
    const log = () => readFile(join(project.dir, `test-job-${job}.log`), "utf8").catch(() => "");
    const serves = async (): Promise<boolean> => {
      const open = [topology.port, topology.port + 1].map((port) => `http://127.0.0.1:${port}`);
      const answers = await Promise.all([url, ...open].map((one) => fetch(`${one}/health`).catch(() => undefined)));
      return answers.every((answer) => answer?.status === 200);
    };
    await expect.poll(serves, { timeout: 60_000 }).toBe(true);
    expect(await log()).toContain(`openenv serves at ${url}`);

    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(url)));
    await Promise.all(clients.map((client) => client.reset()));
    for (const client of clients) expect((await client.step({ amount: 2 })).observation).toEqual({ count: 2 });
    const taken = [topology.port, topology.port + 1].map(async (port) => {
      const body = (await (await fetch(`http://127.0.0.1:${port}/sessions`)).json()) as { sessions: unknown[] };
      return body.sessions.length;
    });
    const [first = 0, second = 0] = await Promise.all(taken);
    expect([first + second, Math.min(first, second) > 0]).toEqual([8, true]);
    await Promise.all(clients.map((client) => client.close()));

    await run("scancel", [job], { env });
    await expect.poll(() => isUp(topology.balancer.port), { timeout: 30_000 }).toBe(false);
    await expect.poll(() => isUp(topology.port), { timeout: 30_000 }).toBe(false);
    await expect
      .poll(async () => (await run("squeue", ["--noheader", "--jobs", job], { env })).stdout, { timeout: 30_000 })
      .toBe("");
  });
});

async function isUp(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health`).then(
    () => true,
    () => false,
  );
}
