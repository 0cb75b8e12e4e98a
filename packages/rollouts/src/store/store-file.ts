/** The file of an archive: episodes in columns, what happened in them as text, and an index of its words. */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError } from "#core/errors.js";
import { ROLLOUT_OUTCOMES } from "#core/protocol/rollout-query.js";
import { isCorrupt, isForeign, SqliteDatabase } from "#core/server/sqlite/database.js";
import { checkFileSystem, checkFiles, createFile } from "#core/server/sqlite/place.js";

/** "oero": the file is an archive of rollouts. */
const APPLICATION = 0x6f65726f;
const VERSION = 1;
const SUFFIXES = ["", "-wal", "-shm", "-journal"];
const FOREIGN = "it is not an archive of rollouts: name another folder, or move the file away";

/** The columns of an episode, in the order in which a row has their values. `changed` and `k` are those of the file. */
export const EPISODE = {
  id: "TEXT NOT NULL UNIQUE",
  /** The public name of the session. */
  handle: "TEXT NOT NULL",
  worker: "INTEGER NOT NULL",
  /** The index in ROLLOUT_OUTCOMES. */
  outcome: "INTEGER NOT NULL",
  env: "TEXT NOT NULL",
  version: "TEXT NOT NULL",
  run: "TEXT",
  policy: "REAL",
  grp: "TEXT",
  task: "TEXT",
  split: "TEXT",
  seed: "REAL",
  client: "TEXT NOT NULL",
  episode: "TEXT",
  /** These are set for a fork: its parent, the step after which it begins, and what chose its actions. */
  parent: "TEXT",
  parent_step: "INTEGER",
  policy_name: "TEXT",
  started: "INTEGER NOT NULL",
  duration: "INTEGER NOT NULL",
  steps: "INTEGER NOT NULL",
  reward: "REAL",
  components: "TEXT NOT NULL",
  tools: "TEXT NOT NULL",
  labels: "TEXT NOT NULL",
  /** The key of the last error, and the error as a JSON object. */
  error: "TEXT",
  failure: "TEXT",
  note: "TEXT NOT NULL",
  strip: "TEXT NOT NULL",
  events: "INTEGER NOT NULL",
  parts: "INTEGER NOT NULL",
} as const;
export type EpisodeValues = Record<keyof typeof EPISODE, string | number | null>;
export const EPISODE_COLUMNS = Object.keys(EPISODE) as (keyof typeof EPISODE)[];

export const RUNNING = ["stuck", "running"].map((name) => ROLLOUT_OUTCOMES.indexOf(name as "running")).join(", ");
/** A query uses the index `episodes_ended` if it has these words. */
export const ENDED = `outcome NOT IN (${RUNNING})`;

/** The numbers of the parts of an episode follow from its key, so that they are next to each other. */
export const PARTS = 2 ** 20;
const SCHEMA = [
  `CREATE TABLE episodes (k INTEGER PRIMARY KEY AUTOINCREMENT, ${EPISODE_COLUMNS.map((name) => `${name} ${EPISODE[name]}`).join(", ")}, changed INTEGER NOT NULL, indexed INTEGER NOT NULL DEFAULT 0) STRICT`,
  "CREATE INDEX episodes_changed ON episodes (changed)",
  "CREATE INDEX episodes_started ON episodes (started)",
  "CREATE INDEX episodes_handle ON episodes (handle)",
  "CREATE INDEX episodes_parent ON episodes (parent) WHERE parent IS NOT NULL",
  "CREATE TABLE contents (n INTEGER PRIMARY KEY, body BLOB NOT NULL, sum INTEGER NOT NULL) STRICT",
  "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT",
  "CREATE TABLE servers (owner TEXT PRIMARY KEY, beat INTEGER NOT NULL) STRICT",
  // It keeps no text: the text of an episode is made again from its contents when it is deleted.
  "CREATE VIRTUAL TABLE words USING fts5(text, content='', detail='full')",
  "INSERT INTO words(words, rank) VALUES ('secure-delete', 1)",
  "INSERT INTO meta VALUES ('changed', 0), ('deleted', 0)",
];
/** What the first archives lack. Their index `episodes_unindexed` also has the episodes that run. */
const LATER =
  `CREATE INDEX IF NOT EXISTS episodes_ended ON episodes (k) WHERE ${ENDED} AND indexed = 0; ` +
  "DROP INDEX IF EXISTS episodes_unindexed; " +
  "CREATE TABLE IF NOT EXISTS pairs (chosen TEXT NOT NULL, rejected TEXT NOT NULL, saved INTEGER NOT NULL, " +
  "PRIMARY KEY (chosen, rejected)) STRICT, WITHOUT ROWID";
const NEW_FILE = "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL";
const SETTINGS =
  "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 8000; " +
  "PRAGMA journal_size_limit = 67108864; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF";
const WAIT_MS = 5_000;

/** The path of the archive in the folder of a store. */
function archivePath(folder: string): string {
  return join(resolve(folder), "rollouts.db");
}

/**
 * Opens the archive of a folder; to write, it makes both. @throws ConfigError that says what is wrong with the store, or
 * when this runtime has no SQLite.
 */
export async function openStore(folder: string, access: "write" | "read"): Promise<SqliteDatabase> {
  const path = archivePath(folder);
  try {
    return await open(path, resolve(folder), access);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`The store ${folder} cannot be used: ${describeProblem(error)}.`, { cause: error });
  }
}

/** What is wrong with a file, for people. */
export function describeProblem(error: unknown): string {
  if (isForeign(error)) return FOREIGN;
  const { message } = error as Error;
  if (isCorrupt(error)) return `it is damaged (${message}): move it away, and import what an export of it has`;
  if (/readonly/.test(message)) return "it can only be read: give this user the right to write it";
  if (/full/.test(message)) return "its disk is full: free some space, or lower OPENENV_STORE_MAX_BYTES";
  return message;
}

async function open(path: string, folder: string, access: "write" | "read"): Promise<SqliteDatabase> {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory()) throw new Error("it is not a folder: name a folder");
  if (access === "read" && !existsSync(path)) throw new Error("it has no rollouts.db: name the folder of a store");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  checkFiles(path, SUFFIXES, access === "write" ? process.geteuid?.() : undefined);
  checkFileSystem(folder, "store");
  if (access === "write" && !existsSync(path)) createFile(path);
  // A file without a log has nothing that only a process with the right to write could read.
  const db = await SqliteDatabase.open(path, access === "read" && !existsSync(`${path}-wal`) ? "unused" : access);
  try {
    db.exec(`PRAGMA busy_timeout = ${WAIT_MS}`);
    if (access === "write") makeSchema(db);
    checkSchema(db);
    if (access === "write") db.exec(`${SETTINGS}; ${LATER}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function makeSchema(db: SqliteDatabase): void {
  if (!isNew(db)) return;
  db.exec(NEW_FILE);
  db.exec("BEGIN IMMEDIATE");
  // Another process may have made it meanwhile.
  if (isNew(db))
    db.exec(`${SCHEMA.join("; ")}; PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${VERSION}`);
  db.exec("COMMIT");
}

function isNew(db: SqliteDatabase): boolean {
  return db.read("SELECT count(*) FROM sqlite_schema") === 0 && db.read("PRAGMA application_id") === 0;
}

function checkSchema(db: SqliteDatabase): void {
  if (db.read("PRAGMA application_id") !== APPLICATION) throw new Error(FOREIGN);
  const version = Number(db.read("PRAGMA user_version"));
  if (version !== VERSION) {
    throw new Error(`its schema has the version ${version}, and this program knows ${VERSION}: use a newer openenv-ts`);
  }
}
