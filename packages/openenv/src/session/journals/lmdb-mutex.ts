import type { open as openLmdb, RootDatabase } from "lmdb";
import { FILE_MODE } from "./boot-mark.js";

/** A transaction that ends before the call returns. */
const SYNC = 2;
const NO_FLUSH = 0x10000;

/**
 * One process at a time opens a file of LMDB or writes to it. LMDB has a lock for writers, but not for a process that
 * opens: this one reads the number of the last transaction and then declares it the last one, so that a transaction that
 * another process has committed in between is lost, and its pages are used twice (`mdb_env_open2` in LMDB 0.9).
 *
 * This is the lock for writers of a second file, to which nothing is ever written: to open that one is harmless. When its
 * holder is killed, the next process gets it.
 */
export class LmdbMutex {
  readonly #db: RootDatabase;

  /** @throws when the file next to this one cannot be opened. */
  constructor(open: typeof openLmdb, path: string) {
    const options = { noSubdir: true, noSync: true, overlappingSync: false, permissionsMode: FILE_MODE };
    this.#db = open({ path: `${path}-mutex`, ...options });
  }

  /** Waits until no other process has it. */
  run<T>(action: () => T): T {
    return this.#db.transactionSync(action, SYNC | NO_FLUSH);
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}
