import { crc32 } from "node:zlib";
import { ROLLOUT_OUTCOMES } from "#core/protocol/rollout-query.js";
import type { PreferencePair } from "#core/protocol/rollouts.js";
import type { SqliteDatabase, Statement, Value } from "#core/server/sqlite/database.js";
import { textOf } from "./event-lines.js";
import { ENDED, EPISODE_COLUMNS, PARTS, RUNNING } from "./store-file.js";

/** A row in the order of EPISODE_COLUMNS, and the next part of its contents: JSON lines. */
export interface Written {
  row: Value[];
  body: Uint8Array | null;
}

export type PairNames = Pick<PreferencePair, "chosen" | "rejected">;

export interface Limits {
  /** Milliseconds. */
  maxAge: number | undefined;
  maxEpisodes: number;
  maxBytes: number;
}

const INCOMPLETE = ROLLOUT_OUTCOMES.indexOf("incomplete");
const ASSIGNED = EPISODE_COLUMNS.filter((name) => name !== "id").map((name) => `${name} = excluded.${name}`);
const PARTS_INDEX = EPISODE_COLUMNS.indexOf("parts");
/** The number of episodes that one transaction indexes or deletes. */
const BATCH = 100;

/** Writes episodes. Each call is one transaction: it is in the file as a whole, or not at all. */
export class Writer {
  readonly #db: SqliteDatabase;
  readonly #put: Statement;
  readonly #putPart: Statement;
  readonly #next: Statement;
  readonly #part: Statement;
  readonly #unindexed: Statement;
  readonly #setIndexed: Statement;
  readonly #addWords: Statement;
  readonly #removeWords: Statement;
  readonly #find: Statement;
  readonly #oldest: Statement;
  readonly #remove: Statement;
  readonly #removeParts: Statement;
  readonly #addPair: Statement;
  readonly #removePair: Statement;
  readonly #removePairsOf: Statement;

  constructor(db: SqliteDatabase) {
    this.#db = db;
    const columns = [...EPISODE_COLUMNS, "changed"];
    this.#put = db.prepare(
      `INSERT INTO episodes (${columns}) VALUES (${columns.map(() => "?")}) ` +
        `ON CONFLICT (id) DO UPDATE SET ${ASSIGNED}, changed = excluded.changed RETURNING k`,
    );
    this.#putPart = db.prepare("INSERT INTO contents VALUES (?, ?, ?)");
    this.#next = db.prepare("UPDATE meta SET value = value + 1 WHERE name = ? RETURNING value");
    this.#part = db.prepare("SELECT body, sum FROM contents WHERE n = ?");
    this.#unindexed = db.prepare(`SELECT k FROM episodes WHERE ${ENDED} AND indexed = 0 LIMIT ${BATCH}`);
    this.#setIndexed = db.prepare("UPDATE episodes SET indexed = 1 WHERE k = ?");
    this.#addWords = db.prepare("INSERT INTO words(rowid, text) VALUES (?, ?)");
    this.#removeWords = db.prepare("INSERT INTO words(words, rowid, text) VALUES ('delete', ?, ?)");
    this.#find = db.prepare("SELECT k FROM episodes WHERE id = ?");
    this.#oldest = db.prepare(`SELECT k FROM episodes WHERE ${ENDED} ORDER BY started LIMIT ?`);
    this.#remove = db.prepare("DELETE FROM episodes WHERE k = ? RETURNING id, indexed");
    this.#removeParts = db.prepare("DELETE FROM contents WHERE n >= ? AND n < ?");
    this.#addPair = db.prepare("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?)");
    this.#removePair = db.prepare("DELETE FROM pairs WHERE chosen = ? AND rejected = ? RETURNING 1");
    this.#removePairsOf = db.prepare("DELETE FROM pairs WHERE ? IN (chosen, rejected)");
  }

  write(batch: readonly Written[]): void {
    this.#transact(() => {
      const changed = this.#count("changed");
      for (const { row, body } of batch) {
        const { k } = this.#put.get(...row, changed) as { k: number };
        if (body === null) continue;
        this.#putPart.run(k * PARTS + Number(row[PARTS_INDEX]) - 1, body, crc32(body));
      }
    });
  }

  /** Marks the episodes of a worker that has ended, or of all. */
  abandon(worker?: number): void {
    this.#transact(() => {
      const which = worker === undefined ? "" : ` AND worker = ${worker}`;
      const changed = this.#count("changed");
      this.#db.exec(
        `UPDATE episodes SET outcome = ${INCOMPLETE}, reward = NULL, changed = ${changed} WHERE outcome IN (${RUNNING})${which}`,
      );
    });
  }

  /** Adds the words of the next episodes that have ended. Returns their number. */
  index(): number {
    const found = this.#unindexed.all().map(({ k }) => Number(k));
    if (found.length === 0) return 0;
    this.#transact(() => {
      for (const k of found) {
        const text = this.#textOf(k);
        if (text !== undefined) this.#addWords.run(k, text);
        this.#setIndexed.run(k);
      }
    });
    return found.length;
  }

  /** Deletes episodes by their public names. Returns the number of those that were there. */
  remove(ids: readonly string[]): number {
    return this.#removeAll(ids.flatMap((id) => Number(this.#find.get(id)?.["k"] ?? 0) || []));
  }

  /** Saves that one episode is preferred to another; the reverse is then no longer saved. */
  addPair({ chosen, rejected }: PairNames): number {
    this.#transact(() => {
      this.#removePair.all(rejected, chosen);
      this.#addPair.run(chosen, rejected, Date.now());
    });
    return 1;
  }

  removePair({ chosen, rejected }: PairNames): number {
    return this.#removePair.all(chosen, rejected).length;
  }

  /** Deletes the oldest episodes beyond the limits, a batch at a time. Returns the number of those that it deleted. */
  retain({ maxAge, maxEpisodes, maxBytes }: Limits): number {
    const count = Number(this.#db.read("SELECT count(*) FROM episodes"));
    const old = maxAge === undefined ? 0 : Date.now() - maxAge;
    const tooOld = Number(this.#db.read(`SELECT count(*) FROM episodes WHERE started < ${old}`));
    const tooMany = count - maxEpisodes;
    const used = Number(this.#db.read("PRAGMA page_count")) - Number(this.#db.read("PRAGMA freelist_count"));
    const isTooLarge = used * Number(this.#db.read("PRAGMA page_size")) > maxBytes;
    const surplus = Math.max(tooOld, tooMany, isTooLarge ? Math.ceil(count / 20) : 0);
    if (surplus <= 0) return 0;
    return this.#removeAll(this.#oldest.all(Math.min(surplus, BATCH)).map(({ k }) => Number(k)));
  }

  #removeAll(keys: readonly number[]): number {
    if (keys.length === 0) return 0;
    this.#transact(() => {
      this.#count("deleted");
      for (const k of keys) {
        const text = this.#textOf(k);
        const { id, indexed } = this.#remove.get(k) as { id: string; indexed: number };
        this.#removePairsOf.run(id);
        if (indexed === 1 && text !== undefined) this.#removeWords.run(k, text);
        // The words of damaged contents are not known: all words are added again.
        else if (indexed === 1) {
          this.#db.exec("INSERT INTO words(words) VALUES ('delete-all'); UPDATE episodes SET indexed = 0");
        }
        this.#removeParts.run(k * PARTS, (k + 1) * PARTS);
      }
    });
    // What was deleted stays in the log until then.
    this.#db.read("PRAGMA wal_checkpoint(TRUNCATE)");
    return keys.length;
  }

  /** Undefined for contents that are damaged. Reads only the parts that have the text. */
  #textOf(k: number): string | undefined {
    let isDamaged = false;
    const part = this.#part;
    function* readLines(): Generator<string> {
      for (let n = k * PARTS; ; n++) {
        const found = part.get(n);
        if (!found) return;
        const body = found["body"] as Uint8Array;
        isDamaged = crc32(body) !== found["sum"];
        if (isDamaged) return;
        yield* new TextDecoder().decode(body).split("\n");
      }
    }
    const text = textOf(readLines());
    return isDamaged ? undefined : text;
  }

  #count(name: "changed" | "deleted"): number {
    return Number(this.#next.get(name)?.["value"]);
  }

  #transact(work: () => void): void {
    this.#db.checkPlace();
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#db.exec("COMMIT");
    } catch (error) {
      try {
        this.#db.exec("ROLLBACK");
      } catch {
        // SQLite has ended the transaction already.
      }
      throw error;
    }
  }
}
