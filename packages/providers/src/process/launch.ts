import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { ProviderError } from "openenv-ts";
import type { AcquiredServer, StartContext } from "../lifecycle/start-context.js";
import { registerOrphans } from "../orphans/reaper.js";
import { endGroup, signalGroup } from "./group.js";
import { createRecord, removeRecord, writeRecord } from "./records.js";
import { createTail } from "./tail.js";

export interface LaunchOptions {
  provider: string;
  /** The source that `openenv ps` shows. */
  source: string;
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Adds a message channel to the three streams; closing it asks the process to exit. */
  channel?: boolean;
}

/** The end of a process; one of the two is null. */
export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface LaunchedProcess extends Omit<Required<AcquiredServer>, "url" | "headers"> {
  readonly pid: number;
  readonly exit: Promise<ProcessExit>;
  /** The first message of the process on its channel. @throws ProviderError when the process exits before. */
  message(signal: AbortSignal): Promise<unknown>;
  /** The URL that `openenv ps` shows. */
  noteUrl(url: string): void;
}

/** Time for a process to exit before its whole group is killed. */
const GRACE_MS = 5_000;

/**
 * Starts a process in its own process group. The group ends when the start is released, and when this process ends,
 * however it ends.
 * @throws ProviderError PROVIDER_UNAVAILABLE when the command cannot be run.
 */
export async function launch(start: StartContext, task: LaunchOptions): Promise<LaunchedProcess> {
  start.onCleanup(registerOrphans(PROCESS_ORPHANS));
  const tail = createTail();
  const child = spawn(task.command, task.args, {
    cwd: task.cwd,
    env: task.env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", ...(task.channel ? (["ipc"] as const) : [])],
  });
  const failure = new Promise<Error>((resolve) => child.once("error", resolve));
  if (child.pid === undefined) throw cannotRun(task, await failure);
  const { pid } = child;
  const record = createRecord(pid, task);
  const { pidStart } = record;
  const exit = once(child, "exit").then(([code, signal]) => ({ code, signal }) as ProcessExit);
  const exited = exit.then(({ code, signal }) =>
    code === null ? `The process was killed by ${signal}` : `The process exited with code ${code}`,
  );
  const drained = Promise.all([tail.follow(child.stdout as Readable), tail.follow(child.stderr as Readable)]);
  start.onCleanup(async () => {
    await end(child, { pidStart, exited, graceMs: start.failed ? 0 : GRACE_MS });
    await removeRecord(record.id);
  });
  writeRecord(record);
  letGo(child);
  const logs = async (): Promise<string> => {
    // The last output of a process may still be in the pipe.
    if (child.exitCode !== null || child.signalCode !== null) await Promise.race([drained, pause(DRAIN_MS)]);
    return tail.text;
  };
  start.running({ logs });
  return {
    pid,
    exit,
    logs,
    ended: () => exited,
    message: (signal) => firstMessage(child, exited, signal),
    noteUrl: (url) => writeRecord({ ...record, url }),
  };
}

/** Finds the process by its record. */
export const PROCESS_ORPHANS = {
  module: new URL("./orphans.js", import.meta.url).href,
  factory: "createProcessOrphanFinder" satisfies keyof typeof import("./orphans.js"),
  options: {},
};
const DRAIN_MS = 500;

function cannotRun({ command }: LaunchOptions, error: Error): ProviderError {
  return new ProviderError("PROVIDER_UNAVAILABLE", `Cannot run ${command}: ${error.message}.`, { cause: error });
}

/** The child does not keep a script alive that forgets to close it. */
function letGo(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
  for (const stream of [child.stdout, child.stderr]) (stream as unknown as { unref(): void }).unref();
}

interface End {
  pidStart: string;
  exited: Promise<string>;
  graceMs: number;
}

async function end(child: ChildProcess, { pidStart, exited, graceMs }: End): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  child.ref();
  if (child.connected) {
    child.disconnect();
    await Promise.race([exited, pause(graceMs)]);
    signalGroup(pid, "SIGKILL");
  }
  await endGroup(pid, pidStart, graceMs);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

async function firstMessage(child: ChildProcess, exited: Promise<string>, signal: AbortSignal): Promise<unknown> {
  const ended = exited.then((reason): never => {
    throw new ProviderError("START_FAILED", `${reason} before it listened.`);
  });
  const [message] = (await Promise.race([once(child, "message", { signal }), ended])) as unknown[];
  return message;
}
