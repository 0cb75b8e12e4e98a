/** A file of SQLite belongs to one server at a time, whose processes share it. */
import { setTimeout as sleep } from "node:timers/promises";
import { hasEnded } from "./owner.js";
import type { SqliteDatabase } from "./sqlite-database.js";

export const HOLDER = "SELECT owner, beat FROM servers";

/** The interval at which a server writes that it lives, milliseconds. */
const BEAT_MS = 3_000;
/** A server that cannot be seen from here has ended when it has not written for so long. */
const STALE_MS = 15_000;
const LOOK_MS = 250;

/**
 * Makes a server the holder of a file, until the function that this resolves with is called. A holder whose process cannot
 * be seen from here is waited for, until it has written again or for too long not. @throws Error when a holder lives.
 */
export async function claimFile(db: SqliteDatabase, owner: string): Promise<() => void> {
  const holder = db.prepare(HOLDER);
  const remove = db.prepare("DELETE FROM servers");
  const put = db.prepare("INSERT INTO servers (owner, beat) VALUES (?, ?)");
  let first: number | undefined;
  for (let isHeld = true; isHeld; ) {
    db.exec("BEGIN IMMEDIATE");
    const { owner: found, beat } = (holder.get() ?? {}) as { owner?: string; beat?: number };
    const end = found === undefined || found === owner ? true : hasEnded(found);
    // The clock may have been set.
    isHeld = !(end ?? Math.abs(Date.now() - (beat as number)) > STALE_MS);
    if (!isHeld) {
      remove.run();
      put.run(owner, Date.now());
    }
    db.exec("COMMIT");
    if (!isHeld) break;
    if (end === false || beat !== (first ??= beat)) throw new Error(`${describe(String(found))} has it`);
    await sleep(LOOK_MS);
  }
  const renew = db.prepare("UPDATE servers SET beat = ? WHERE owner = ?");
  const timer = setInterval(() => {
    try {
      renew.run(Date.now(), owner);
    } catch {
      // Another process writes now, or the disk is full.
    }
  }, BEAT_MS).unref();
  return () => {
    clearInterval(timer);
    db.prepare("DELETE FROM servers WHERE owner = ?").run(owner);
  };
}

function describe(owner: string): string {
  const [name = "", , machine = ""] = owner.split("/");
  return `another server that is still running (process ${name.split(".")[0]} on ${machine.split(":")[0]})`;
}
