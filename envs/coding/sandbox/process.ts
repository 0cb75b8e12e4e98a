import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex, Readable } from "node:stream";
import type { Cgroup, Cgroups } from "./cgroup.js";
import type { Launch } from "./launch.js";
import { makeShelter, type Shelter } from "./shelter.js";

/** One sandbox: a process and all that it starts. */
export interface SandboxProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly questions: Duplex;
  readonly answers: Duplex;
  /** The uid its driver has to take, null to stay what it is. */
  readonly driverUid: number | null;
  /** Resolves with the exit code once every process of it has ended and its pipes were read to their end. */
  readonly ended: Promise<number>;
  /** Puts it under the limits of a cgroup where there is one; before that, no program may run. */
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

/** Rejects when it cannot be started. */
export async function startProcess(launch: Launch, cgroups: Cgroups | undefined): Promise<SandboxProcess> {
  const shelter = await makeShelter(launch);
  const cgroup = cgroups?.create();
  try {
    const child = spawn(launch.command, launch.args, optionsOf(launch, shelter));
    if (child.pid === undefined) throw (await once(child, "error"))[0];
    return attend(child, { launch, shelter, cgroup });
  } catch (error) {
    await shelter.remove();
    await cgroup?.remove();
    throw error;
  }
}

function optionsOf(launch: Launch, shelter: Shelter): SpawnOptions {
  const uid = launch.ownUid === "before" ? shelter.uid : undefined;
  return {
    stdio: ["ignore", "pipe", "pipe", "pipe", "pipe", launch.contained ? "pipe" : "ignore"],
    env: shelter.variables,
    cwd: shelter.directory,
    // A group of its own can be killed as a whole.
    detached: !launch.contained,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  };
}

interface Surroundings {
  launch: Launch;
  shelter: Shelter;
  cgroup: Cgroup | undefined;
}

function attend(child: ChildProcess, { launch, shelter, cgroup }: Surroundings): SandboxProcess {
  let first = launch.contained ? undefined : child.pid;
  let over = false;
  readFirstPid(child, (pid) => (first = pid));
  child.on("error", () => {});
  const signal = (name: NodeJS.Signals): void => {
    if (first === undefined || over) return;
    try {
      process.kill(launch.contained ? first : -first, name);
    } catch {
      // It has just ended.
    }
  };
  const exited = once(child, "exit").then(async ([code]) => {
    if (!launch.contained) signal("SIGKILL");
    over = true;
    await shelter.sweep();
    return (code as number | null) ?? KILLED;
  });
  return {
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    questions: child.stdio[3] as Duplex,
    answers: child.stdio[4] as Duplex,
    driverUid: (launch.ownUid === "driver" ? shelter.uid : undefined) ?? null,
    ended: waitForPipes(child, exited).finally(() => Promise.all([shelter.remove(), cgroup?.remove()])),
    enclose() {
      for (const pid of new Set([child.pid, first])) if (pid !== undefined && !over) cgroup?.add(pid);
    },
    stop: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
    kill() {
      // Bubblewrap, its parent, then reaps it and ends; killed itself, it would leave that to the machine's init.
      if (first !== undefined) signal("SIGKILL");
      else if (!over) child.kill("SIGKILL");
    },
  };
}

/** Bubblewrap tells which process is the first one inside, in numbers of this side. */
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

async function waitForPipes(child: ChildProcess, exited: Promise<number>): Promise<number> {
  const closed = once(child, "close");
  const code = await exited;
  // What escaped its group may hold them for ever.
  const timer = setTimeout(() => {
    for (const stream of child.stdio) stream?.destroy();
  }, LOST_PIPES_MS);
  await closed;
  clearTimeout(timer);
  return code;
}
