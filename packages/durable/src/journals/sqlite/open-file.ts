/** Opens the file of a journal in SQLite, and refuses what is not one. */
import { closeSync, existsSync, fsyncSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isCorrupt, isForeign, SqliteDatabase } from "#core/server/sqlite/database.js";
import { HOLDER, holdFile } from "#core/server/sqlite/holder.js";
import { isServerOf } from "#core/server/sqlite/owner.js";
import { checkFileSystem, checkFiles, createFile } from "#core/server/sqlite/place.js";
import { type Durability, JournalError } from "../journal.js";
import { dropTornFile, isTorn, markBoot, readMark, SUFFIXES } from "./boot-mark.js";
import { checkWal } from "./wal.js";

/** "oejo": the file is a journal of sessions. */
const APPLICATION = 0x6f656a6f;
const VERSION = 1;
/**
 * A commit writes over one row, the head: its table has nothing else, so that a page has many. A session has an entry as
 * long as its end is remembered, and a head until it ends. Cells have the key of their session in the upper bits of their
 * number, so that those of one session are next to each other.
 */
const SCHEMA = [
  "CREATE TABLE sessions (k INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, token TEXT NOT NULL, epoch INTEGER NOT NULL, " +
    "owner TEXT, ended INTEGER, reason TEXT, sum INTEGER NOT NULL) STRICT",
  "CREATE TABLE heads (k INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, head BLOB NOT NULL) STRICT",
  "CREATE TABLE cells (n INTEGER PRIMARY KEY, name TEXT NOT NULL, value BLOB NOT NULL) STRICT",
  "CREATE TABLE keys (next INTEGER NOT NULL) STRICT",
  // The server that has the file, and when it last wrote that it lives.
  "CREATE TABLE servers (owner TEXT PRIMARY KEY, beat INTEGER NOT NULL) STRICT",
];
/** A page of 8 kB holds the heads of several sessions. */
const NEW_FILE = "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL";
const SETTINGS =
  "PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 8000; PRAGMA journal_size_limit = 67108864; " +
  "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF";
/** The time for which an opening waits for other processes that open the file, in milliseconds. */
const OPENING_MS = 10_000;
const CLOSING_MS = 1_000;
const KEEPING_MS = 20;
/** A look at the name of the file counts for so many milliseconds, because it costs as much as a whole step. */
const PLACE_MS = 20;
/** SQLite takes a shorter file for an empty one, and writes over it. */
const MIN_BYTES = 512;
const FOREIGN = "it is not a journal of sessions: name another file, or move this one away";
export interface SqliteJournalOptions {
  path: string;
  /** `process`: the file is dropped when the machine has restarted. `disk`: each commit waits for the disk. */
  durability: Durability;
  owner: string;
  /** True for the server itself, before its workers: it checks the whole file, and refuses one that another server has. */
  isFirst?: boolean;
}

/** An open file, which must stay the one that has its name, and that of its server. */
export interface SqliteFile {
  db: SqliteDatabase;
  /** Throws when the file was deleted or replaced, or another server has it, at most 20 ms later. */
  check(): void;
  close(): void;
}

/**
 * Opens a file for a process of a server, or makes it. With `isFirst` it is the server itself, which checks the file and
 * has it alone. @throws ConfigError when this runtime has no SQLite, Error when the file cannot be used.
 */
export async function openFile(
  path: string,
  { durability, owner, isFirst = false }: { durability: Durability; owner: string; isFirst?: boolean },
): Promise<SqliteFile> {
  const folder = dirname(path);
  if (!existsSync(folder)) throw new Error("its folder does not exist");
  checkFiles(path, SUFFIXES, process.geteuid?.());
  checkFileSystem(folder, "journal");
  if (isFirst) dropTornFile(path);
  if (!existsSync(path)) createFile(path);
  const { size } = statSync(path);
  if (size > 0 && size < MIN_BYTES) throw new Error(FOREIGN);
  if (isFirst) prepare(path, folder, durability);
  const db = await SqliteDatabase.open(path, "write");
  try {
    db.exec(`PRAGMA busy_timeout = ${OPENING_MS}`);
    makeSchema(db);
    db.exec(`PRAGMA synchronous = ${durability === "disk" ? "FULL" : "OFF"}; ${SETTINGS}`);
    const release = isFirst ? await holdFile(db, owner) : undefined;
    if (isFirst) check(db, path);
    markBoot(path, durability);
    // A call that waits would hold the event loop. The process that keeps the file waits a moment for the others.
    db.exec(`PRAGMA busy_timeout = ${isFirst ? KEEPING_MS : 0}`);
    const file = { db, check: watchFile(db, path, owner), close: () => closeWritten(db, release) };
    file.check();
    return file;
  } catch (error) {
    throw closed(db, error);
  }
}

/** The name is not looked at for each transaction: that takes as long as the commit of a session. */
function watchFile(db: SqliteDatabase, path: string, owner: string): () => void {
  const holder = db.prepare(HOLDER);
  let checked = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - checked < PLACE_MS) return;
    db.checkPlace();
    const server = holder.get()?.["owner"];
    if (server !== undefined && !isServerOf(String(server), owner)) {
      const message = `Another server has taken over the journal ${path}: close this instance.`;
      throw new JournalError("EPOCH_LOST", message);
    }
    checked = now;
  };
}

/**
 * Opens a file only to read it, also while a server uses it.
 * @throws ConfigError when this runtime has no SQLite, Error when the file cannot be read.
 */
export async function openFileToRead(path: string): Promise<SqliteFile> {
  if (statSync(path).size === 0) throw new Error("it is empty");
  checkFiles(path, SUFFIXES);
  if (isTorn(path)) throw new Error("parts of it may be missing: the machine has restarted since it was written");
  checkWal(`${path}-wal`);
  const access = existsSync(`${path}-wal`) ? "read" : "unused";
  const db = await SqliteDatabase.open(path, access);
  try {
    db.exec("PRAGMA busy_timeout = 1000; PRAGMA cell_size_check = ON");
    checkSchema(db);
    if (access === "unused") checkEnd(db, path);
    checkRows(db);
    return { db, check: () => {}, close: () => db.close() };
  } catch (error) {
    throw closed(db, error);
  }
}

/** The last process that closes a file empties its log, but for Node 20, where the binding keeps statements open. */
function closeWritten(db: SqliteDatabase, release: (() => void) | undefined): void {
  try {
    db.exec(`PRAGMA busy_timeout = ${CLOSING_MS}`);
    release?.();
    db.read("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // The next process recovers the log.
  }
  db.close();
}

/** Closes a file that cannot be used. Returns the reason. */
function closed(db: SqliteDatabase, error: unknown): unknown {
  db.close();
  if (isForeign(error)) return new Error(FOREIGN, { cause: error });
  return isCorrupt(error)
    ? new Error(`it is damaged (${(error as Error).message}); delete it`, { cause: error })
    : error;
}

/** Call this before SQLite has the file open: closing any descriptor of it later would release SQLite's locks. */
function prepare(path: string, folder: string, durability: Durability): void {
  checkWal(`${path}-wal`);
  if (durability === "process") return;
  const wasProcess = readMark(path) !== undefined;
  // What was written without waiting for the disk becomes as durable as what follows.
  const unsynced = wasProcess ? [path, `${path}-wal`, folder] : [folder];
  for (const name of unsynced.filter((one) => existsSync(one))) {
    const file = openSync(name, "r");
    fsyncSync(file);
    closeSync(file);
  }
}

function makeSchema(db: SqliteDatabase): void {
  if (isNew(db)) {
    db.exec(NEW_FILE);
    db.exec("BEGIN IMMEDIATE");
    // Another process may have made it meanwhile.
    if (isNew(db)) {
      db.exec(
        `${SCHEMA.join("; ")}; INSERT INTO keys VALUES (1); PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${VERSION}`,
      );
    }
    db.exec("COMMIT");
  }
  checkSchema(db);
}

function isNew(db: SqliteDatabase): boolean {
  return db.read("SELECT count(*) FROM sqlite_schema") === 0 && db.read("PRAGMA application_id") === 0;
}

function checkSchema(db: SqliteDatabase): void {
  if (db.read("PRAGMA application_id") !== APPLICATION) throw new Error(FOREIGN);
  const version = Number(db.read("PRAGMA user_version"));
  if (version > VERSION) {
    throw new Error(`its schema has the version ${version}, and this program knows ${VERSION}: use a newer openenv-ts`);
  }
  const found = db.read("SELECT group_concat(sql, ';') FROM sqlite_schema WHERE sql IS NOT NULL");
  if (version !== VERSION || found !== SCHEMA.join(";"))
    throw new Error("it is damaged: its schema is not that of a journal");
}

/** SQLite follows what it finds: a page that is used twice, or lost, would only be noticed when it is overwritten. */
function check(db: SqliteDatabase, path: string): void {
  const { log, checkpointed } = db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() ?? {};
  if (log === checkpointed) checkEnd(db, path);
  refuse(db.read("PRAGMA quick_check(1)"));
  checkRows(db);
}

/** The check does not read the content of large values. Call this when the log is empty. */
function checkEnd(db: SqliteDatabase, path: string): void {
  const expected = Number(db.read("PRAGMA page_count")) * Number(db.read("PRAGMA page_size"));
  refuse(statSync(path).size >= expected ? "ok" : "its end is missing");
}

/** A session whose entry is missing, or not found by its index, would be opened anew. */
function checkRows(db: SqliteDatabase): void {
  refuse(db.read("PRAGMA integrity_check(sessions)"));
  const lost = db.read("SELECT count(*) FROM heads WHERE k NOT IN (SELECT k FROM sessions)");
  refuse(lost === 0 ? "ok" : `the entries of ${lost} sessions are missing`);
}

function refuse(found: unknown): void {
  if (found !== "ok") throw new Error(`it is damaged (${String(found).replaceAll("\n", " ")}); delete it`);
}
