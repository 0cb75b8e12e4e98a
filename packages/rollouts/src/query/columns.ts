import { ROLLOUT_OUTCOMES } from "#core/protocol/rollout-query.js";
import type { SqliteDatabase, SqliteRow, Statement, Value } from "#core/server/sqlite/database.js";

const NUMBERS = ["k", "reward", "steps", "duration", "started", "policy", "seed", "outcome"] as const;
const WORDS = ["env", "run", "grp", "task", "split", "client", "tools", "labels", "error"] as const;
const READ = [...NUMBERS, ...WORDS, "id"] as const;
/** Episodes that are read in one statement. */
const BATCH = 20_000;

/** What has happened to an episode since viewers got a message. `hasTurned`: its outcome is not the one that they have. */
interface Change {
  isNew: boolean;
  hasEnded: boolean;
  hasTurned: boolean;
}

export const isRunning = (outcome: number): boolean => outcome <= ROLLOUT_OUTCOMES.indexOf("running");

/**
 * What queries compare and sort, of all episodes, in memory: a scan of 100,000 rows of the file takes longer than a page may.
 * An episode has a slot. The numbers are NaN, and the words -1, where it has none.
 */
export class Columns {
  size = 0;
  readonly numbers = Object.fromEntries(NUMBERS.map((name) => [name, new Float64Array(1024)])) as Record<
    (typeof NUMBERS)[number],
    Float64Array
  >;
  readonly words = Object.fromEntries(WORDS.map((name) => [name, new Words()])) as Record<
    (typeof WORDS)[number],
    Words
  >;
  ids: string[] = [];
  /** Slots that were added or have changed since the last call of `takeChanged`, those that changed first before others. */
  #fresh = new Map<number, Change>();
  #slots = new Map<number, number>();
  #changed = 0;
  #deleted = 0;
  /** Rises when anything changes. */
  version = 0;
  readonly #db: SqliteDatabase;
  readonly #read: Statement;
  readonly #meta: Statement;

  constructor(db: SqliteDatabase) {
    this.#db = db;
    this.#read = db.prepare(`SELECT ${READ}, changed FROM episodes WHERE changed > ? ORDER BY changed LIMIT ${BATCH}`);
    this.#meta = db.prepare("SELECT value FROM meta WHERE name = ?");
    const { value } = this.#meta.get("deleted") as { value: number };
    this.#deleted = value;
  }

  slotOf(k: number): number | undefined {
    return this.#slots.get(k);
  }

  /** Reads what has changed in the file. */
  refresh(): void {
    const { value: deleted } = this.#meta.get("deleted") as { value: number };
    if (deleted !== this.#deleted) this.#drop();
    this.#deleted = deleted;
    const { value: changed } = this.#meta.get("changed") as { value: number };
    while (this.#changed < changed) {
      const rows = this.#read.all(this.#changed);
      const last = Number(rows.at(-1)?.["changed"] ?? changed);
      // Those of one transaction have one number, which a batch may have divided.
      const whole = rows.length < BATCH || last === Number(rows[0]?.["changed"]);
      for (const row of whole ? rows : rows.filter((one) => one["changed"] !== last)) this.#put(row);
      this.#changed = whole ? (rows.length < BATCH ? changed : last) : last - 1;
      this.version++;
    }
  }

  takeChanged(): ReadonlyMap<number, Change> {
    const fresh = this.#fresh;
    this.#fresh = new Map();
    return fresh;
  }

  /** The next call of `takeChanged` returns them again. */
  keepChanged(slots: readonly number[]): void {
    for (const slot of slots) this.#fresh.set(slot, { isNew: false, hasEnded: false, hasTurned: true });
  }

  #put(row: SqliteRow): void {
    const k = Number(row["k"]);
    const known = this.#slots.get(k);
    const slot = known ?? this.size++;
    const was = known === undefined ? Number.NaN : (this.numbers.outcome[slot] as number);
    if (known === undefined) {
      this.#slots.set(k, slot);
      this.ids[slot] = String(row["id"]);
    }
    if (slot >= this.numbers.k.length) {
      for (const name of NUMBERS) this.numbers[name] = grow(this.numbers[name]);
    }
    for (const name of NUMBERS) this.numbers[name][slot] = numberOf(row[name]);
    for (const name of WORDS) this.words[name].put(slot, row[name] as string | null);
    const isOver = !isRunning(Number(row["outcome"]));
    const fresh = this.#fresh.get(slot);
    const isNew = known === undefined || fresh?.isNew === true;
    this.#fresh.set(slot, {
      isNew,
      hasEnded: (isOver && (isRunning(was) || known === undefined)) || fresh?.hasEnded === true,
      hasTurned: isOver || (known !== undefined && was !== Number(row["outcome"])) || fresh?.hasTurned === true,
    });
  }

  /** Moves the last episode to the place of each that was deleted. */
  #drop(): void {
    const kept = new Set(
      this.#db
        .prepare("SELECT k FROM episodes")
        .all()
        .map(({ k }) => Number(k)),
    );
    for (let slot = this.size - 1; slot >= 0; slot--) {
      const k = this.numbers.k[slot] as number;
      if (kept.has(k)) continue;
      const last = --this.size;
      this.#slots.delete(k);
      this.#fresh.delete(slot);
      if (slot === last) continue;
      for (const name of NUMBERS) this.numbers[name][slot] = this.numbers[name][last] as number;
      for (const name of WORDS) this.words[name].move(last, slot);
      this.ids[slot] = this.ids[last] as string;
      this.#slots.set(this.numbers.k[slot] as number, slot);
      const moved = this.#fresh.get(last);
      this.#fresh.delete(last);
      if (moved !== undefined) this.#fresh.set(slot, moved);
    }
    this.version++;
  }
}

/** The texts of a column, each of which many episodes have: an episode has its number. */
export class Words {
  of = new Int32Array(1024);
  readonly texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  put(slot: number, text: string | null): void {
    if (slot >= this.of.length) this.of = grow(this.of);
    let number = text === null ? -1 : this.#numbers.get(text);
    if (number === undefined) {
      number = this.texts.push(text as string) - 1;
      this.#numbers.set(text as string, number);
    }
    this.of[slot] = number;
  }

  move(from: number, to: number): void {
    this.of[to] = this.of[from] as number;
  }

  get(slot: number): string | null {
    return this.texts[this.of[slot] as number] ?? null;
  }
}

function grow<T extends Float64Array | Int32Array>(old: T): T {
  const larger = new (old.constructor as new (length: number) => T)(old.length * 2);
  larger.set(old as never);
  return larger;
}

function numberOf(value: Value | undefined): number {
  return value === null || value === undefined ? Number.NaN : Number(value);
}
