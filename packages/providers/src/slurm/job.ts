import { setTimeout as sleep } from "node:timers/promises";
import { ProviderError } from "openenv-ts";
import { runSlurm } from "./command.js";

/** The state of a job as the scheduler reports it. */
export interface JobState {
  /** `PENDING`, `RUNNING`, `COMPLETED`, `FAILED`, `NODE_FAIL` … */
  state: string;
  /** The scheduler's reason: `Resources`, `PartitionConfig` …; empty without one. */
  reason: string;
  /** `3:0`: the exit code and the signal. */
  exitCode: string;
  /** Its nodes as Slurm writes them (`n[1-2]`), and their number. */
  nodes: string;
  nodeCount: number;
}

/** Returns undefined when the scheduler no longer knows the job. */
export async function readJob(id: string, signal?: AbortSignal): Promise<JobState | undefined> {
  const args = ["show", "job", "--all", "--oneliner", id];
  const text = await runSlurm("scontrol", args, { signal }).catch((error: unknown) => {
    if (error instanceof ProviderError && /invalid job id/i.test(error.message)) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const read = (name: string): string => new RegExp(`\\b${name}=(\\S*)`).exec(text)?.[1] ?? "";
  const reason = read("Reason");
  return {
    state: read("JobState"),
    reason: reason === "None" ? "" : reason,
    exitCode: read("ExitCode"),
    nodes: / NodeList=(\S*)/.exec(text)?.[1] ?? "",
    nodeCount: Number.parseInt(read("NumNodes"), 10),
  };
}

/** `Job 7 is PENDING (Resources)`. */
export function describeJob(id: string, job: JobState | undefined): string {
  if (!job) return `Job ${id} no longer exists`;
  const why = job.reason ? ` (${job.reason})` : "";
  return `Job ${id} is ${job.state}${why}${isOver(job) && job.exitCode ? `, exit code ${job.exitCode}` : ""}`;
}

const LIVE = ["PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING"];

export function isOver(job: JobState | undefined): boolean {
  return job === undefined || !LIVE.includes(job.state);
}

/** Polling is slow because the scheduler serves many users. */
export const ASK_EVERY_MS = 1_000;
/** The time that a completing job may take until the scheduler reports its final state. */
const COMPLETING_MS = 8_000;

/** Resolves with the end of the job, or with the loss of nodes that its servers run on. */
export async function waitForEnd(id: string, nodes: readonly string[], signal: AbortSignal): Promise<string> {
  const all = [...new Set(nodes)];
  for (let endsBy = Number.POSITIVE_INFINITY; ; ) {
    const job = await readJob(id, signal);
    // Its processes are ending, and the final state may not be known yet.
    if (job?.state === "COMPLETING") endsBy = Math.min(endsBy, Date.now() + COMPLETING_MS);
    if (isOver(job) && (job?.state !== "COMPLETING" || Date.now() >= endsBy)) return describeJob(id, job);
    if (job?.state === "RUNNING" && job.nodeCount < all.length) return describeLoss(id, { ...job, all }, signal);
    await sleep(ASK_EVERY_MS, undefined, { signal });
  }
}

/** `Job 7 has lost 1 of its 2 nodes and continues on n1 (n2 is down*: Not responding)`. */
async function describeLoss(
  id: string,
  { nodes, nodeCount, all }: JobState & { all: readonly string[] },
  signal: AbortSignal,
): Promise<string> {
  const args = ["--noheader", "--Node", `--nodes=${all.join()}`, "--format=%N|%T|%E"];
  const text = await runSlurm("sinfo", args, { signal }).catch(() => "");
  const states = text.split("\n").map((line) => line.trim().split("|"));
  // A star marks a node that does not respond; a node without one may be back already.
  const [name, state, reason] = states.find(([, one = ""]) => /^(down|fail)|\*$/.test(one)) ?? [];
  const why = name === undefined ? "" : ` (${name} is ${state}: ${reason})`;
  return `Job ${id} has lost ${all.length - nodeCount} of its ${all.length} nodes and continues on ${nodes}${why}`;
}

const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2_000;
const KILL_EVERY_MS = 10_000;
const GONE_MS = 60_000;

/**
 * Cancels the jobs with this name and waits until they are gone; does nothing when there are none.
 * @throws ProviderError RELEASE_FAILED with the scheduler's state when a job does not end: its node may be lost.
 */
export async function cancelJobs(name: string): Promise<void> {
  const startedAt = Date.now();
  let killAt = startedAt + KILL_EVERY_MS;
  for (let pause = 0; ; pause = pause === 0 ? FIRST_PAUSE_MS : Math.min(pause * 1.5, LAST_PAUSE_MS)) {
    await sleep(pause);
    const left = await runSlurm("squeue", ["--all", "--noheader", "--format=%A", `--name=${name}`]);
    const ids = left.trim().split(/\s+/).filter(Boolean);
    if (ids.length === 0) return;
    if (pause === 0) await runSlurm("scancel", ids);
    else if (Date.now() > killAt) {
      // Some jobs do not end after the cancellation.
      await runSlurm("scancel", ["--signal=KILL", "--full", ...ids]).catch(() => {});
      killAt = Date.now() + KILL_EVERY_MS;
    }
    if (Date.now() > startedAt + GONE_MS) {
      const [id = ""] = ids;
      const job = describeJob(id, await readJob(id));
      throw new ProviderError("RELEASE_FAILED", `${job} a minute after it was cancelled. Check its nodes with sinfo`);
    }
  }
}
