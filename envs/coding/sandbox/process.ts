import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Duplex, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cgroup, Cgroups } from "./cgroup.js";
import type { SandboxLaunch } from "./launch.js";
import { makeShelter, type Shelter } from "./shelter.js";

/** One sandbox: a process and all that it starts. */
export interface SandboxProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly questions: Duplex;
  readonly answers: Duplex;
  /** Resolves with the exit code once every process of it has ended and its pipes were read to their end. */
  readonly ended: Promise<number>;
  /** Puts it under the limits of a cgroup where there is one, else throws; before that, no program may run. */
  enclose(): void;
  /** Nothing in it runs between two steps. */
  stop(): void;
  resume(): void;
  /** Kills it with all descendants; idempotent. */
  kill(): void;
}

const LOST_PIPES_MS = 500;
const KILLED = 128 + 9;
const INFO_BYTES = 4096;
const NAMESPACE_MS = 10_000;

/** Rejects when it cannot be started. */
export async function startProcess(launch: SandboxLaunch, cgroups: Cgroups | undefined): Promise<SandboxProcess> {
  const shelter = await makeShelter(launch);
  let cgroup: Cgroup | undefined;
  try {
    cgroup = cgroups?.create();
    const child = spawn(launch.command, launch.argumentsFor(shelter.uid), optionsOf(launch, shelter));
    if (child.pid === undefined) throw (await once(child, "error"))[0];
    return attend(child, { launch, shelter, cgroup });
  } catch (error) {
    await shelter.remove();
    await cgroup?.remove();
    throw error;
  }
}

function optionsOf(launch: SandboxLaunch, shelter: Shelter): SpawnOptions {
  const uid = launch.ownUid === "before" ? shelter.uid : undefined;
  return {
    stdio: ["ignore", "pipe", "pipe", "pipe", "pipe", launch.contained ? "pipe" : "ignore"],
    env: shelter.variables,
    cwd: shelter.directory,
    // A separate process group can be killed as a whole.
    detached: !launch.contained,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  };
}

interface Surroundings {
  launch: SandboxLaunch;
  shelter: Shelter;
  cgroup: Cgroup | undefined;
}

function attend(child: ChildProcess, { launch, shelter, cgroup }: Surroundings): SandboxProcess {
  let first = launch.contained ? undefined : child.pid;
  let interpreter: number | undefined;
  let over = false;
  readFirstPid(child, (pid) => (first = pid));
  child.on("error", () => {});
  const signal = (pid: number | undefined, name: NodeJS.Signals): void => {
    if (pid === undefined || over) return;
    try {
      process.kill(launch.contained ? pid : -pid, name);
    } catch {
      // It has just ended.
    }
  };
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve)).then(async (code) => {
    if (!launch.contained) signal(first, "SIGKILL");
    over = true;
    await shelter.sweep();
    if (launch.contained && first !== undefined) await waitForNamespace(first);
    return code ?? KILLED;
  });
  return {
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    questions: child.stdio[3] as Duplex,
    answers: child.stdio[4] as Duplex,
    ended: waitForPipes(child, exited).finally(() => Promise.all([shelter.remove(), cgroup?.remove()])),
    enclose() {
      interpreter = launch.ownUid === "inside" && launch.contained ? readOnlyChild(first) : first;
      for (const pid of new Set([child.pid, first, interpreter])) {
        if (pid === undefined || over) continue;
        cgroup?.add(pid);
        preferWhenMemoryEnds(pid);
      }
    },
    // Without bubblewrap no process would resume or end it after the server was killed.
    stop: () => launch.contained && signal(interpreter, "SIGSTOP"),
    resume: () => launch.contained && signal(interpreter, "SIGCONT"),
    kill() {
      // Bubblewrap, its parent, then reaps it and ends; killed itself, it would leave that to the machine's init.
      if (first !== undefined) signal(first, "SIGKILL");
      else if (!over) child.kill("SIGKILL");
    },
  };
}

/** Where no cgroup bounds it, the kernel ends programs rather than the server; what they start inherits it. */
function preferWhenMemoryEnds(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "1000");
  } catch {
    // It has just ended, or the machine has no such file.
  }
}

/** Bubblewrap reports the first process inside, by its pid outside. */
function readFirstPid(child: ChildProcess, found: (pid: number) => void): void {
  const info = (child.stdio as readonly unknown[])[5] as Readable | null;
  let told = "";
  info?.on("error", () => {});
  info?.on("data", (chunk: Buffer) => {
    if (told.length > INFO_BYTES) return;
    told += chunk;
    const pid = /"child-pid": (\d+)/.exec(told)?.[1];
    if (pid === undefined) return;
    // What comes later was not written by bubblewrap.
    told = " ".repeat(INFO_BYTES + 1);
    found(Number(pid));
  });
}

/** Without an own uid it is the first process itself; else the only child of bubblewrap's own first one. */
function readOnlyChild(pid: number | undefined): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()) || undefined;
  } catch {
    return undefined;
  }
}

/** When its first process has ended, so has every other; it may end a moment after bubblewrap, its parent. */
async function waitForNamespace(first: number): Promise<void> {
  for (const deadline = Date.now() + NAMESPACE_MS; Date.now() < deadline; await sleep(2)) {
    const status = await readFile(`/proc/${first}/stat`, "utf8").catch(() => "");
    if (status === "" || status.slice(status.lastIndexOf(")")).startsWith(") Z")) return;
  }
}

async function waitForPipes(child: ChildProcess, exited: Promise<number>): Promise<number> {
  const closed = new Promise((resolve) => child.once("close", resolve));
  const code = await exited;
  // What escaped its group may hold them for ever.
  const timer = setTimeout(() => {
    for (const stream of child.stdio) stream?.destroy();
  }, LOST_PIPES_MS);
  await closed;
  clearTimeout(timer);
  return code;
}
