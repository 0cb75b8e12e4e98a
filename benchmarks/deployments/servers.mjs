/** Servers of the benchmark environment as in a deployment, each on a port of this machine. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { dockerProvider } from "@openenv-ts/providers";
import { findFreePort } from "openenv-ts/internal";
import { startCluster } from "../harness/clusters.mjs";
import { hasBalancer } from "./balancer.mjs";
import { render } from "./render.mjs";

const SERVES_WITHIN_MS = 60_000;

/** Starts a server of each kind; resolves with `{ port, close }`. */
export const START = { node: startNode, docker: startContainer, slurm: startJob, python: startPython };

function startNode({ workers, capacity }) {
  return startCluster("node", { args: ["--workers", String(workers)], env: { MAX_CONCURRENT_ENVS: String(capacity) } });
}

function startPython({ workers, capacity }) {
  const args = ["--workers", String(workers), "--timeout-worker-healthcheck", "60"];
  return startCluster("python", { args, env: { MAX_CONCURRENT_ENVS: String(capacity) } });
}

async function startContainer({ workers, capacity, container = {} }, { image }) {
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
  const close = async () => {
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
  const env = { ...process.env, SLURM_CONF: process.env.OPENENV_SLURM };
  return (await promisify(execFile)(command, args, { env, cwd: import.meta.dirname })).stdout;
}

/** Why a set-up cannot be measured here; undefined if it can. */
export function findMissing({ start, balancer }) {
  if (start === "python" && !process.env.OPENENV_PYTHON)
    return "OPENENV_PYTHON is not a Python with the package openenv";
  if (start === "slurm" && !process.env.OPENENV_SLURM) return "OPENENV_SLURM is not set to a slurm.conf";
  if (balancer && !hasBalancer("haproxy")) return "haproxy is not installed";
  return undefined;
}
