/** Setups of the benchmark environment as in a deployment, each behind one port of this machine. */
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { dockerProvider } from "@openenv-ts/providers";
import { findFreePort } from "openenv-ts/internal";
import { hasBalancer, startBalancer } from "../harness/balancer.mjs";
import { startCluster } from "../harness/clusters.mjs";
import { render } from "../harness/render.mjs";
import { findPython } from "../harness/servers.mjs";

const SERVES_WITHIN_MS = 60_000;
/** More sessions than the largest batch. */
const CAPACITY = 20_000;

/** Starts a complete setup behind one URL; resolves with `{ url, port, close, servers }`. */
export async function startSetup({ start, servers = 1, workers, capacity = CAPACITY, container, balancer }, image) {
  const running = [];
  const close = () => Promise.all(running.toReversed().map((one) => one.close()));
  try {
    for (let number = 0; number < servers; number++)
      running.push(await START[start]({ workers, capacity, container, image }));
    if (balancer) running.push(await startBalancer(running.slice(), { ...balancer, capacity: workers * capacity }));
    const { port } = running.at(-1);
    return { url: `http://127.0.0.1:${port}`, port, servers: running.slice(0, servers), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts a server of each kind; resolves with `{ port, close }`. */
const START = { node: startNode, docker: startContainer, slurm: startJob, python: startPython };

function startNode({ workers, capacity }) {
  return startCluster("node", { args: ["--workers", String(workers)], env: { MAX_CONCURRENT_ENVS: String(capacity) } });
}

function startPython({ workers, capacity }) {
  const args = ["--workers", String(workers), "--timeout-worker-healthcheck", "60"];
  return startCluster("python", { args, env: { MAX_CONCURRENT_ENVS: String(capacity) } });
}

async function startContainer({ workers, capacity, container = {}, image }) {
  const port = container.network === "host" && { PORT: String(await findFreePort()) };
  const env = { WORKERS: String(workers), MAX_CONCURRENT_ENVS: String(capacity), ...port };
  const started = await dockerProvider(container).start({ image, env });
  return { port: Number(new URL(started.url).port), close: () => started.close() };
}

/** A job of one node; several servers are several jobs, because the nodes of this machine share its ports. */
async function startJob({ workers, capacity }) {
  const dir = await mkdtemp(join(tmpdir(), "openenv-job-"));
  const log = join(dir, "log");
  const topology = {
    name: "bench",
    directory: join(import.meta.dirname, "../../envs/benchmark"),
    ...{ workers, capacity, graceSeconds: 1, variables: { HOST: "127.0.0.1" } },
    resources: { memoryMb: 256 },
  };
  await writeFile(join(dir, "topology.yaml"), JSON.stringify(topology));
  await render("slurm", dir, ["--topology", join(dir, "topology.yaml")]);
  const job = (await slurm("sbatch", "--parsable", `--output=${log}`, join(dir, "job.sbatch"))).trim();
  // A job does not end with this process, as a child does.
  const cancel = () => spawnSync("scancel", [job], { env: slurmVariables() });
  process.once("exit", cancel);
  const close = async () => {
    process.off("exit", cancel);
    await slurm("scancel", job);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    return { port: await readPort(log), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The free port that the job writes to its log when the server listens. */
async function readPort(log) {
  const deadline = Date.now() + SERVES_WITHIN_MS;
  for (;;) {
    const text = await readFile(log, "utf8").catch(() => "");
    const [, port] = /openenv serves at http:\/\/\S+:(\d+)/.exec(text) ?? [];
    if (port !== undefined) return Number(port);
    if (Date.now() > deadline) throw new Error(`the job did not serve within ${SERVES_WITHIN_MS / 1000} s: ${text}`);
    await sleep(100);
  }
}

/** Runs in the folder of the benchmarks, where `npx openenv` finds this package. */
async function slurm(command, ...args) {
  const env = slurmVariables();
  return (await promisify(execFile)(command, args, { env, cwd: import.meta.dirname })).stdout;
}

/** Why a setup cannot be measured here; undefined if it can. */
export function findMissing({ start, balancer }) {
  if (start === "python") return findPython().missing;
  if (start === "slurm" && !process.env.OPENENV_SLURM) return "OPENENV_SLURM is not set to a slurm.conf";
  if (start === "docker" && !hasDocker()) return "no Docker engine answers";
  if (balancer && !hasBalancer(balancer.kind))
    return balancer.kind === "envoy" ? "OPENENV_ENVOY is not set to an Envoy" : "haproxy is not installed";
  return undefined;
}

let answers;

export function hasDocker() {
  answers ??= tryTo(() => execFileSync("docker", ["version"], { stdio: "ignore", timeout: 10_000 }));
  return answers;
}

function tryTo(work) {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

function slurmVariables() {
  return { ...process.env, SLURM_CONF: process.env.OPENENV_SLURM };
}
