/** A file of SQLite belongs to one server at a time, whose processes share it, and whose first process keeps its log short. */
import { setTimeout as sleep } from "node:timers/promises";
import type { SqliteDatabase, Statement } from "./database.js";
import { hasEnded } from "./owner.js";

export const HOLDER = "SELECT owner, beat FROM servers";

/** The interval of checkpoints, and the one at which a server writes that it lives, milliseconds. */
const TURN_MS = 500;
const BEAT_MS = 3_000;
/** The pages of 8 kB in the log after which it begins again, and after which it is made shorter: 32 and 256 MB. */
const PAGE_BYTES = 8_192;
const RESTART_PAGES = 4_000;
const MAX_PAGES = 32_768;
/** A server that cannot be seen from here has ended when it has not written for so long. */
const STALE_MS = 15_000;
const LOOK_MS = 250;

/**
 * Makes a server the holder of a file, until the function that this resolves with is called. A holder whose process cannot
 * be seen from here is waited for, until it has written again or for too long not. @throws Error when a holder lives.
 */
export async function holdFile(db: SqliteDatabase, owner: string): Promise<() => void> {
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
    if (end === false || beat !== (first ??= beat)) throw new Error(`it is in use by ${describe(String(found))}`);
    await sleep(LOOK_MS);
  }
  return keepFile(db, owner);
}

/** Writes that the server lives, and empties the log into the file, which the other processes then need not do. */
function keepFile(db: SqliteDatabase, owner: string): () => void {
  const renew = db.prepare("UPDATE servers SET beat = ? WHERE owner = ?");
  const [passive, restart, truncate] = ["PASSIVE", "RESTART", "TRUNCATE"].map((how) =>
    db.prepare(`PRAGMA wal_checkpoint(${how})`),
  ) as [Statement, Statement, Statement];
  let isLong = false;
  const checkpoint = (): void => {
    const { log } = passive.get() as { log: number };
    if (log < RESTART_PAGES) isLong = false;
    // While processes write all the time, only this lets them begin the log again.
    else if (log < MAX_PAGES) restart.get();
    else if (truncate.get()?.["busy"] === 1 && !isLong) {
      isLong = true;
      const megabytes = Math.round((log * PAGE_BYTES) / 2 ** 20);
      const message = `The log of a store has ${megabytes} MB, because another program reads the file: end its transaction`;
      process.emitWarning(message);
    }
  };
  let next = 0;
  const timer = setInterval(() => {
    try {
      const now = performance.now();
      if (now >= next) {
        renew.run(Date.now(), owner);
        next = now + BEAT_MS;
      }
      checkpoint();
    } catch {
      // Another process writes now, or the disk is full: the next turn tries it again.
    }
  }, TURN_MS).unref();
  return () => {
    clearInterval(timer);
    db.prepare("DELETE FROM servers WHERE owner = ?").run(owner);
  };
}

function describe(owner: string): string {
  const [name = "", , machine = ""] = owner.split("/");
  return `another server that is still running (process ${name.split(".")[0]} on ${machine.split(":")[0]})`;
}
