import { constants, DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import type { Rng } from "openenv-ts";

export const TABLES = `CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers, item TEXT, price INTEGER);`;
export const CITIES = ["Accra", "Bergen", "Cusco"] as const;
export const ITEMS = ["lamp", "chair", "table"] as const;
const NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"];
const MAX_ROWS = 20;
/** The most bytes of a value, because functions such as printf can make values of any size. */
const LIMITS = { length: 10_000, attach: 0 };
/** What a statement of an agent may do: everything else, recursion included, is not authorized. */
const ALLOWED = [constants.SQLITE_SELECT, constants.SQLITE_READ, constants.SQLITE_FUNCTION];

type Cell = string | number | null;

export interface Result {
  rows: Cell[][];
  /** Whether there are more rows. */
  truncated: boolean;
  /** Why there is no result. */
  message?: string;
}

export function openDatabase(): DatabaseSyncInstance {
  const db = new DatabaseSync(":memory:", { returnArrays: true, limits: LIMITS });
  db.exec(TABLES);
  return db;
}

/** Replaces all rows. */
export function fill(db: DatabaseSyncInstance, rng: Rng): void {
  db.setAuthorizer(null);
  db.exec("BEGIN; DELETE FROM orders; DELETE FROM customers");
  const addCustomer = db.prepare("INSERT INTO customers VALUES (?, ?, ?)");
  for (const [index, name] of NAMES.entries()) addCustomer.run(index + 1, name, rng.pick(CITIES));
  const addOrder = db.prepare("INSERT INTO orders VALUES (?, ?, ?, ?)");
  for (let id = 1; id <= 40; id++) addOrder.run(id, rng.int(1, NAMES.length), rng.pick(ITEMS), rng.int(5, 90));
  db.exec("COMMIT");
  db.setAuthorizer((action) => (ALLOWED.includes(action) ? constants.SQLITE_OK : constants.SQLITE_DENY));
}

/** What an agent did wrong is a message; an exception would mean that the environment is broken. */
export function query(db: DatabaseSyncInstance, sql: string): Result {
  const rows: Cell[][] = [];
  try {
    for (const row of db.prepare(sql).iterate() as Iterable<unknown[]>) {
      if (rows.length === MAX_ROWS) return { rows, truncated: true };
      rows.push(row.map(toCell));
    }
    return { rows, truncated: false };
  } catch (error) {
    return { rows: [], truncated: false, message: (error as Error).message };
  }
}

/** JSON has neither bytes nor infinite numbers. */
function toCell(value: unknown): Cell {
  if (value === null || typeof value === "string" || Number.isFinite(value)) return value as Cell;
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
}
