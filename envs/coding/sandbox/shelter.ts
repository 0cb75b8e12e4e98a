import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { chown, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { SandboxLaunch } from "./launch.js";

/** What belongs to one sandbox outside of its processes. */
export interface Shelter {
  /** A uid of its own where the server may give one: limits on processes count per uid. */
  readonly uid: number | undefined;
  readonly directory: string;
  readonly variables: Record<string, string>;
  /** Kills what left its process group, as far as it can be found; bubblewrap leaves nothing to find. */
  sweep(): Promise<void>;
  remove(): Promise<void>;
}

const MARK = "OPENENV_SANDBOX";
const LARGEST_UID = 2 ** 31 - 2;
const SYSTEM_UIDS = 20_000;
const UID_TRIES = 1000;
const SWEEP_MS = 5_000;
const taken = new Set<number>();

export async function makeShelter(launch: SandboxLaunch): Promise<Shelter> {
  const uid = launch.ownUid === "none" ? undefined : takeUid();
  const release = (): void => void (uid !== undefined && taken.delete(uid));
  const token = randomUUID();
  if (launch.contained) {
    const variables = variablesOf("/tmp", token);
    return { uid, directory: "/", variables, sweep: async () => {}, remove: async () => release() };
  }
  const directory = await mkdtemp(join(tmpdir(), "openenv-sandbox-"));
  if (uid !== undefined) await chown(directory, uid, uid);
  return {
    uid,
    directory,
    variables: variablesOf(directory, token),
    sweep: () => killMarked(`${MARK}=${token}`),
    async remove() {
      release();
      await removeFolder(directory);
    },
  };
}

/** A program may have closed its folders to everybody, itself included. */
async function removeFolder(directory: string): Promise<void> {
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true, maxRetries: 3 });
  const open = (): Promise<unknown> => promisify(execFile)("chmod", ["-R", "u+rwX", directory]);
  await remove().catch(() =>
    open()
      .then(remove)
      .catch(() => {}),
  );
}

/** Nothing of the server's own: it holds tokens and keys. */
function variablesOf(home: string, token: string): Record<string, string> {
  return { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: home, TMPDIR: home, LANG: "C.UTF-8", [MARK]: token };
}

/** At random, because several servers may share a machine. */
function takeUid(): number {
  const end = Math.min(LARGEST_UID, countMappedUids());
  for (let tries = 0; tries < UID_TRIES; tries += 1) {
    const uid = SYSTEM_UIDS + Math.floor(Math.random() * (end - SYSTEM_UIDS));
    if (taken.has(uid)) continue;
    taken.add(uid);
    return uid;
  }
  throw new Error("no uid is free for another sandbox: this container maps too few");
}

/** In a container with a user namespace of its own there may be few. */
function countMappedUids(): number {
  const rows = readFileSync("/proc/self/uid_map", "utf8").trim().split("\n");
  const [inside = 0, , count = 0] = (rows.at(-1) ?? "").trim().split(/\s+/).map(Number);
  return Math.max(SYSTEM_UIDS + 1, inside + count);
}

/** Repeats until nothing is found, because what it kills may just have forked and takes a moment to end. */
async function killMarked(mark: string): Promise<void> {
  for (const deadline = Date.now() + SWEEP_MS; Date.now() < deadline; await sleep(5)) {
    let found = 0;
    for (const pid of await readdir("/proc").catch(() => [])) {
      if (!/^\d+$/.test(pid)) continue;
      const variables = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
      if (!variables.split("\0").includes(mark)) continue;
      try {
        process.kill(Number(pid), "SIGKILL");
        found += 1;
      } catch {
        // It has just ended.
      }
    }
    if (found === 0) return;
  }
}
