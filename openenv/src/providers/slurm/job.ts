import { setTimeout as sleep } from "node:timers/promises";
import { ProviderError } from "../../errors.js";
import { runSlurm } from "./command.js";

/** What the scheduler says of a job. */
export interface JobState {
  /** `PENDING`, `RUNNING`, `COMPLETED`, `FAILED`, `NODE_FAIL` … */
  state: string;
  /** Why, in the scheduler's word: `Resources`, `PartitionConfig` …; empty when it has none. */
  reason: string;
  /** `3:0`: the exit code and the signal. */
  exitCode: string;
}

/** Nothing when the scheduler knows the job no more. */
export async function readJob(id: string, signal?: AbortSignal): Promise<JobState | undefined> {
  const args = ["show", "job", "--all", "--oneliner", id];
  const text = await runSlurm("scontrol", args, { signal }).catch((error: unknown) => {
    if (error instanceof ProviderError && /invalid job id/i.test(error.message)) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const read = (name: string): string => new RegExp(`\\b${name}=(\\S*)`).exec(text)?.[1] ?? "";
  const reason = read("Reason");
  return { state: read("JobState"), reason: reason === "None" ? "" : reason, exitCode: read("ExitCode") };
}

/** `Job 7 is PENDING (Resources)`. */
export function describeJob(id: string, job: JobState | undefined): string {
  if (!job) return `Job ${id} is gone`;
  const why = job.reason ? ` (${job.reason})` : "";
  return `Job ${id} is ${job.state}${why}${isOver(job) && job.exitCode ? `, exit code ${job.exitCode}` : ""}`;
}

const LIVE = ["PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING"];

export function isOver(job: JobState | undefined): boolean {
  return job === undefined || !LIVE.includes(job.state);
}

const POLL_MS = 100;
const GRACE_MS = 10_000;
const GONE_MS = 60_000;

/**
 * Cancels the jobs of this name and waits until they are gone; nothing happens when there are none.
 * @throws ProviderError RELEASE_FAILED with what the scheduler says when one does not go: its node may be lost.
 */
export async function cancelJobs(name: string): Promise<void> {
  const startedAt = Date.now();
  for (let tries = 0; ; tries++) {
    const left = await runSlurm("squeue", ["--all", "--noheader", "--format=%A", `--name=${name}`]);
    const ids = left.trim().split(/\s+/).filter(Boolean);
    if (ids.length === 0) return;
    if (tries === 0) await runSlurm("scancel", ids);
    // What does not end by itself.
    else if (Date.now() > startedAt + GRACE_MS)
      await runSlurm("scancel", ["--signal=KILL", "--full", ...ids]).catch(() => {});
    if (Date.now() > startedAt + GONE_MS) {
      const [id = ""] = ids;
      const job = describeJob(id, await readJob(id));
      throw new ProviderError("RELEASE_FAILED", `${job} a minute after it was cancelled: look at its nodes with sinfo`);
    }
    await sleep(POLL_MS);
  }
}
