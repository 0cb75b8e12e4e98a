import type { Orphan, OrphanFinder } from "../orphans/orphan.js";
import { processStart } from "../orphans/owner.js";
import { endGroup } from "./group.js";
import { type ProcessRecord, readRecords, removeRecord } from "./records.js";

const GRACE_MS = 2_000;

/** Finds the processes that records of this user and machine name and that still run; forgets the others. */
export function createProcessOrphanFinder(): OrphanFinder {
  return {
    async list() {
      const records = await readRecords();
      await Promise.all(records.filter((record) => !isRunning(record)).map(({ id }) => removeRecord(id)));
      return records.filter(isRunning).map(describe);
    },
  };
}

/** The group may have members left when its leader is gone; one of another process is not touched. */
function isRunning({ pid, pidStart }: ProcessRecord): boolean {
  const current = processStart(pid);
  return current === pidStart || (current === undefined && groupExists(pid));
}

function groupExists(pid: number): boolean {
  try {
    return process.platform !== "win32" && process.kill(-pid, 0);
  } catch {
    return false;
  }
}

function describe(record: ProcessRecord): Orphan {
  const { pid, pidStart, id, provider, source, url, startedAt, owner } = record;
  return {
    id: String(pid),
    provider,
    source,
    url,
    startedAt,
    owner,
    async remove() {
      await endGroup(pid, pidStart, GRACE_MS);
      await removeRecord(id);
    },
  };
}
