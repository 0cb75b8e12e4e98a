import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { quoteShell } from "@openenv-ts/deploy";
import { ProviderError } from "openenv-ts";
import { httpUrl } from "../address.js";
import { balanceReady } from "../balancer.js";
import { renderLabels } from "../docker/labels.js";
import { checkReplicas, rejectSource } from "../lifecycle/check-options.js";
import { startEnvironment } from "../lifecycle/start.js";
import type { StartContext } from "../lifecycle/start-context.js";
import { registerOrphans } from "../orphans/reaper.js";
import { stateDir } from "../orphans/state-dir.js";
import type { Provider, StartedServer, StartSpec } from "../provider.js";
import { runSlurm } from "./command.js";
import { ASK_EVERY_MS, cancelJobs, describeJob, isOver, readJob, waitForEnd } from "./job.js";
import { checkOptions, renderArguments, type SlurmProviderOptions } from "./options.js";
import { renderComment } from "./orphans.js";
import type { TaskAddress } from "./task-process.js";

/**
 * Starts the environment of a folder as a Slurm job with `replicas` servers (default one on each of `nodes`), and
 * resolves when all are ready. Several servers are behind one URL on 127.0.0.1 of this process. The folder, this
 * package and Node must be on a file system that the nodes share. The job gets the variables of this process and those
 * of `env`. `close()` cancels it, and so does the end of this process, however it ends.
 * @throws ConfigError for an unknown option or an invalid value.
 * @example
 * await using server = await slurmProvider({ partition: "cpu", nodes: 2 }).start({ directory: "envs/echo" });
 * await using env = await connect(server.url, echo);
 */
export function slurmProvider(options: SlurmProviderOptions = {}): Provider {
  checkOptions(options);
  const descriptor = { module: import.meta.url, factory: "slurmProvider", options };
  return { name: NAME, descriptor, hasReplicas: true, start: (spec) => startJob(spec, options) };
}

const NAME = "slurm";
const POLL_MS = 100;
const MAX_SERVERS = 10_000;
const MAX_LOG_CHARACTERS = 64 * 1024;

const TASK = fileURLToPath(new URL("./task-process.js", import.meta.url));
const ORPHANS = {
  module: new URL("./orphans.js", import.meta.url).href,
  factory: "createSlurmOrphanFinder" satisfies keyof typeof import("./orphans.js"),
};

async function startJob(spec: StartSpec, options: SlurmProviderOptions): Promise<StartedServer> {
  if (!("directory" in spec)) {
    rejectSource(NAME, "a folder that the nodes share", "clone a repository first; use another provider for an image");
  }
  const { nodes = 1, host = "0.0.0.0", cpus, sharedDir = join(stateDir(), "slurm") } = options;
  const { replicas: count = nodes } = spec;
  // At least one server on each node.
  checkReplicas(count, nodes, MAX_SERVERS);
  return startEnvironment(NAME, spec, async (start) => {
    const target = resolve(spec.directory);
    if (!(await stat(target).catch(() => undefined))) {
      throw new ProviderError("SOURCE_NOT_FOUND", `There is no file or folder ${target}. Check the path.`);
    }
    const name = `openenv-${randomUUID()}`;
    const dir = resolve(sharedDir, name);
    start.onCleanup(registerOrphans({ ...ORPHANS, options: {} }));
    await makeDir(dir);
    start.onCleanup(() => rm(dir, { recursive: true, force: true }));
    const script = join(dir, "job.sh");
    await writeFile(script, renderScript({ dir, target, host, count, cpus }));
    let id: string | undefined;
    const logs = () => readLogs(dir, id);
    start.running({ logs });
    id = await submit(start, { name, script, source: target, count }, { spec, options });
    const addresses = await waitForServers(start, { id, dir, count });
    const nodes = addresses.map(({ node }) => node);
    const ended = (signal: AbortSignal) => waitForEnd(id as string, nodes, signal);
    if (count === 1) return { url: addresses.map(({ host: at, port }) => httpUrl(at, port)), logs, ended };
    const backends = addresses.map(({ host: at, port }, number) => ({ id: String(number), host: at, port }));
    const { url } = await balanceReady(start, backends, { logs, ended });
    return { url, logs, ended };
  });
}

async function makeDir(dir: string): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    const message = `Cannot create ${dir}: ${(error as Error).message}. Set sharedDir to a folder that the nodes share.`;
    throw new ProviderError("PROVIDER_UNAVAILABLE", message, { cause: error });
  }
}

interface Script {
  dir: string;
  target: string;
  host: string;
  count: number;
  cpus: number | undefined;
}

/** A server that exits does not end the others. */
function renderScript({ dir, target, host, count, cpus }: Script): string {
  const command = [process.execPath, TASK, dir, target, host].map(quoteShell).join(" ");
  // srun does not take this from the job.
  const each = cpus === undefined ? "" : ` --cpus-per-task=${cpus}`;
  const flags = `--ntasks=${count}${each} --no-kill --kill-on-bad-exit=0 --output=${quoteShell(join(dir, "%t.log"))}`;
  const own = ["HOST", "PORT", "WORKERS", "OPENENV_WORKER_NUMBER", "npm_command"].join(" ");
  return `#!/bin/sh\nunset ${own}\nexec srun ${flags} ${command}\n`;
}

interface Job {
  name: string;
  script: string;
  source: string;
  count: number;
}

/** Submits the job and returns its id. The job is cancelled by name, because the id may never arrive. */
async function submit(
  start: StartContext,
  { name, script, source, count }: Job,
  { spec, options }: { spec: StartSpec; options: SlurmProviderOptions },
): Promise<string> {
  const own = [
    "--parsable",
    "--no-requeue",
    "--no-kill",
    "--export=ALL",
    `--job-name=${name}`,
    `--comment=${renderComment(renderLabels(NAME, source))}`,
    `--output=${join(script, "../job.log")}`,
    `--chdir=${join(script, "..")}`,
  ];
  start.progress("submitting the job");
  const onMessage = (line: string): void => start.progress(`submitting the job: ${line}`);
  const args = [...own, ...renderArguments(options, count), script];
  const submitting = runSlurm("sbatch", args, { signal: start.signal, env: spec.env, onMessage });
  start.onCleanup(async () => {
    // A submission that was cancelled, or whose response was lost, may still have reached the controller.
    const reached = await submitting.then(
      () => true,
      (error: unknown) => !(error instanceof ProviderError && error.code === "PROVIDER_UNAVAILABLE"),
    );
    if (reached) await cancelJobs(name);
  });
  return (await submitting).trim().split(";")[0] ?? "";
}

/**
 * Returns the addresses of the servers once all listen.
 * @throws ProviderError with the scheduler's reason when the job ends before.
 */
async function waitForServers(
  start: StartContext,
  { id, dir, count }: { id: string; dir: string; count: number },
): Promise<TaskAddress[]> {
  let reported = "";
  const known = new Map<string, TaskAddress>();
  for (let askAt = 0; ; ) {
    await readAddresses(dir, known);
    if (known.size === count) return [...known.values()];
    if (Date.now() >= askAt) {
      const job = await readJob(id, start.signal);
      if (isOver(job)) throw new ProviderError("START_FAILED", `${describeJob(id, job)} before its servers listened.`);
      const stage = `${count === 1 ? "its server does" : `${count - known.size} of ${count} servers do`} not listen`;
      const now = `waiting: ${describeJob(id, job)}${job?.state === "RUNNING" ? `, ${stage} yet` : ""}`;
      if (now !== reported) start.progress(now);
      reported = now;
      askAt = Date.now() + ASK_EVERY_MS;
    }
    await sleep(POLL_MS, undefined, { signal: start.signal });
  }
}

/** Adds new addresses. A file is written once, and each read is a request to the file server. */
async function readAddresses(dir: string, known: Map<string, TaskAddress>): Promise<void> {
  const names = (await readdir(dir)).filter((name) => /^\d+\.json$/.test(name) && !known.has(name));
  const read = async (name: string): Promise<void> => {
    known.set(name, JSON.parse(await readFile(join(dir, name), "utf8")) as TaskAddress);
  };
  await Promise.all(names.map(read));
}

/** The output of the servers and the job, followed by the job's state when it is not running. */
async function readLogs(dir: string, id: string | undefined): Promise<string> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith(".log")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(dir, name), "utf8").catch(() => "")));
  const job = id === undefined ? undefined : await readJob(id).catch(() => undefined);
  const end = id !== undefined && job?.state !== "RUNNING" ? `${describeJob(id, job)}\n` : "";
  return (texts.join("") + end).slice(-MAX_LOG_CHARACTERS);
}
