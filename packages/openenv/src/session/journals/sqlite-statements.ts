import type { SqliteDatabase, Statement } from "./sqlite-database.js";

const ENTRY = "id, token, epoch, owner, ended, reason, sum";

const SQL = {
  begin: "BEGIN IMMEDIATE",
  /** Statements that follow see one state. */
  beginRead: "BEGIN",
  commit: "COMMIT",
  rollback: "ROLLBACK",
  find: `SELECT ${ENTRY} FROM sessions WHERE id = ?`,
  key: "SELECT k FROM sessions WHERE id = ?",
  list: `SELECT k, ${ENTRY} FROM sessions WHERE k > ? ORDER BY k LIMIT ?`,
  insert: "INSERT INTO sessions (id, token, epoch, owner, sum, head) VALUES (?, ?, ?, ?, ?, ?)",
  /** A session whose id is used again. */
  renew:
    "UPDATE sessions SET token = ?, epoch = ?, owner = ?, ended = NULL, reason = NULL, sum = ?, head = ? WHERE id = ?",
  put: "UPDATE sessions SET epoch = ?, owner = ?, ended = ?, reason = ?, sum = ? WHERE id = ?",
  empty: "UPDATE sessions SET head = ? WHERE id = ?",
  remove: "DELETE FROM sessions WHERE id = ?",
  head: "SELECT head FROM sessions WHERE k = ?",
  /** Changes nothing when another process has taken the session over, or it has ended. */
  update: "UPDATE sessions SET head = ? WHERE k = ? AND epoch = ? AND ended IS NULL",
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
