import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "#core/errors.js";
import { holdFile } from "#core/server/sqlite/holder.js";
import { ownerName } from "#core/server/sqlite/owner.js";
import { Reader } from "../query/reader.js";
import { describeProblem, openStore } from "./store-file.js";
import { type Limits, type PairNames, Writer, type Written } from "./writer.js";

const INDEX_MS = 500;
const RETAIN_MS = 10_000;

/** What a process of a server asks of the one that has the file. */
export type StoreChange = { remove: string[] } | { pair: PairNames } | { unpair: PairNames };

/** What each thread of a store does. */
export interface Roles {
  writer: { write(batch: readonly Written[]): void; close(): void };
  keeper: StoreKeeper;
  reader: Reader;
}
export type Role = keyof Roles;

/** @throws ConfigError when the file cannot be used. */
export async function openRole<R extends Role>(role: R, folder: string): Promise<Roles[R]> {
  if (role === "keeper") return (await StoreKeeper.open(folder)) as unknown as Roles[R];
  const db = await openStore(folder, role === "reader" ? "read" : "write");
  if (role === "reader") return new Reader(db) as unknown as Roles[R];
  const writer = new Writer(db);
  const close = (): void => db.close();
  return { write: (batch: readonly Written[]) => writer.write(batch), close } as unknown as Roles[R];
}

/** What one process of a server does for all: it has the file, marks, indexes and deletes. */
export class StoreKeeper {
  readonly #writer: Writer;
  readonly #end: () => void;
  #limits: Limits | undefined;
  #isClosed = false;

  private constructor(writer: Writer, end: () => void) {
    this.#writer = writer;
    this.#end = end;
  }

  static async open(folder: string): Promise<StoreKeeper> {
    const db = await openStore(folder, "write");
    try {
      const release = await holdFile(db, ownerName(""));
      const writer = new Writer(db);
      // Episodes that still run are those of a server that was killed: what came after is not known.
      writer.abandon();
      const end = (): void => {
        release();
        db.read("PRAGMA wal_checkpoint(TRUNCATE)");
        db.close();
      };
      return new StoreKeeper(writer, end);
    } catch (error) {
      db.close();
      throw new ConfigError(`The store ${folder} cannot be used: ${describeProblem(error)}.`, { cause: error });
    }
  }

  /** Begins to index, and to delete what is beyond the limits. */
  begin(limits: Limits): void {
    this.#limits = limits;
    void this.#work();
  }

  abandon(worker: number): void {
    this.#writer.abandon(worker);
  }

  /** Returns the number of rows that it deleted or added. */
  change(change: StoreChange): number {
    if ("remove" in change) return this.#writer.remove(change.remove);
    return "pair" in change ? this.#writer.addPair(change.pair) : this.#writer.removePair(change.unpair);
  }

  close(): void {
    this.#isClosed = true;
    while (this.#attempt(() => this.#writer.index()) > 0);
    this.#end();
  }

  async #work(): Promise<void> {
    for (let next = 0; !this.#isClosed; ) {
      const isBehind = this.#attempt(() => this.#writer.index()) > 0;
      if (performance.now() >= next) {
        const deleted = this.#attempt(() => this.#writer.retain(this.#limits as Limits));
        if (deleted === 0) next = performance.now() + RETAIN_MS;
      }
      await sleep(isBehind ? 0 : INDEX_MS, undefined, { ref: false });
    }
  }

  /** The disk may be full, or another process writes: the next turn tries it again. */
  #attempt(work: () => number): number {
    try {
      return work();
    } catch {
      return 0;
    }
  }
}
