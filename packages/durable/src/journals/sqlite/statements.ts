import type { SqliteDatabase, Statement } from "#core/server/sqlite/database.js";

const ENTRY = "id, token, epoch, owner, ended, reason, sum";

const SQL = {
  begin: "BEGIN IMMEDIATE",
  /** Statements that follow see one state. */
  beginRead: "BEGIN",
  commit: "COMMIT",
  rollback: "ROLLBACK",
  checkpoint: "PRAGMA wal_checkpoint(PASSIVE)",
  find: `SELECT k, ${ENTRY} FROM sessions WHERE id = ?`,
  list: `SELECT k, ${ENTRY} FROM sessions WHERE k > ? ORDER BY k LIMIT ?`,
  /** Reserves keys. They are never used again: a process that was frozen may have the key of a session that was removed. */
  reserve: "UPDATE keys SET next = max(next, (SELECT coalesce(max(k), 0) + 1 FROM sessions)) + ? RETURNING next",
  putEntry: `INSERT OR REPLACE INTO sessions (k, ${ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  removeEntry: "DELETE FROM sessions WHERE k = ?",
  head: "SELECT head FROM heads WHERE k = ?",
  putHead: "INSERT OR REPLACE INTO heads (k, epoch, head) VALUES (?, ?, ?)",
  /** Changes nothing when another process has taken the session over, or it has ended. */
  commitHead: "UPDATE heads SET head = ? WHERE k = ? AND epoch = ?",
  takeHead: "UPDATE heads SET epoch = ? WHERE k = ?",
  removeHead: "DELETE FROM heads WHERE k = ?",
  cells: "SELECT n, name, value FROM cells WHERE n >= ? AND n < ? ORDER BY n",
  putCell: "INSERT OR REPLACE INTO cells (n, name, value) VALUES (?, ?, ?)",
  removeCell: "DELETE FROM cells WHERE n = ?",
  removeCells: "DELETE FROM cells WHERE n >= ? AND n < ?",
};

export type Statements = Record<keyof typeof SQL, Statement>;

export function prepareAll(db: SqliteDatabase): Statements {
  const prepared = Object.entries(SQL).map(([name, sql]) => [name, db.prepare(sql)] as const);
  return Object.fromEntries(prepared) as Statements;
}
