/** One interface to the SQLite of each runtime. */
import { closeSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ConfigError } from "../../errors.js";

export type Value = string | number | null | Uint8Array;
export type SqliteRow = Record<string, Value>;

export interface Statement {
  run(...values: Value[]): { changes: number; lastInsertRowid: number };
  get(...values: Value[]): SqliteRow | null | undefined;
  all(...values: Value[]): SqliteRow[];
}

/** `read` makes files next to the file. `unused` does not, from Node 22.15: for a file that no process has open. */
export type Access = "write" | "read" | "unused";

type Open = (place: string, access: Access) => Connection;

interface Connection {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
}

/** The exports of `node:sqlite` and `@photostructure/sqlite`. */
interface NodeSqlite {
  DatabaseSync: new (place: string, options: { readOnly: boolean }) => Connection;
}

interface BunSqlite {
  Database: new (place: string, flags: number) => Connection;
  constants: Record<`SQLITE_OPEN_${"READONLY" | "READWRITE" | "CREATE" | "URI"}`, number>;
}

/** The first byte of SQLite's result codes, and its messages: not every error of every binding has the code. */
const BUSY = { code: 5, message: /^database (table )?is locked/ };
const CORRUPT = { code: 11, message: /malformed/ };
const NOT_A_DATABASE = { code: 26, message: /^file is not a database/ };
/** The first bytes of a file. */
const HEADER = Buffer.from("SQLite format 3\0");
const IF_THERE = { throwIfNoEntry: false } as const;
/** A name that TypeScript and bundlers must not look up. */
const BUN_SQLITE: string = "bun:sqlite";

let loading: Promise<Open> | undefined;

/** A file of SQLite that this process has open. Each prepared statement is finalized when it is closed. */
export class SqliteDatabase {
  readonly #connection: Connection;
  readonly #statements: Statement[] = [];
  readonly #path: string;
  readonly #place: Stats | undefined;

  private constructor(connection: Connection, path: string, place: Stats | undefined) {
    this.#connection = connection;
    this.#path = path;
    this.#place = place;
  }

  /** @throws ConfigError when this runtime has no SQLite, Error when the file cannot be opened. */
  static async open(path: string, access: Access): Promise<SqliteDatabase> {
    // A second library in one process would release the locks of the first.
    const open = await (loading ??= loadSqlite());
    const place = statSync(path, IF_THERE);
    if (access !== "unused") return new SqliteDatabase(open(path, access), path, place);
    try {
      return new SqliteDatabase(open(`${pathToFileURL(path).href}?immutable=1`, access), path, place);
    } catch {
      // Node before 22.15 opens no address.
      return new SqliteDatabase(open(path, "read"), path, place);
    }
  }

  /** What is written to a file without its name is lost. @throws Error when the name is no longer that of this file. */
  checkPlace(): void {
    const found = statSync(this.#path, IF_THERE);
    if (found?.ino !== this.#place?.ino || found?.dev !== this.#place?.dev)
      throw new Error("it was deleted or replaced while this process had it open");
  }

  prepare(sql: string): Statement {
    const statement = this.#connection.prepare(sql);
    this.#statements.push(statement);
    return statement;
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  /** The first value that a statement returns. */
  read(sql: string): Value | undefined {
    const statement = this.#connection.prepare(sql);
    const [value] = Object.values(statement.get() ?? {});
    finalize(statement);
    return value;
  }

  close(): void {
    for (const statement of this.#statements.splice(0)) finalize(statement);
    this.#connection.close();
  }
}

/**
 * Call this only in a process that does not have the file open, because closing it releases the locks of the process.
 * @throws when it cannot be opened.
 */
export function hasSqliteHeader(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(HEADER.length);
    readSync(file, bytes);
    return bytes.equals(HEADER);
  } finally {
    closeSync(file);
  }
}

/** Another process writes, or reads in a way that excludes this call. */
export function isBusy(error: unknown): boolean {
  return hasResult(error, BUSY);
}

/** A page of the file is not what SQLite wrote. */
export function isCorrupt(error: unknown): boolean {
  return hasResult(error, CORRUPT) || isForeign(error);
}

/** It is not a file of SQLite. */
export function isForeign(error: unknown): boolean {
  return hasResult(error, NOT_A_DATABASE);
}

function hasResult(error: unknown, { code, message }: { code: number; message: RegExp }): boolean {
  const given = (error ?? {}) as Error & { errcode?: number; errno?: number };
  const found = given.errno ?? given.errcode;
  return found === undefined ? message.test(given.message) : (found & 0xff) === code;
}

/** A statement that is not finalized keeps the file open after `close`, where the binding does not do it. */
function finalize(statement: Statement & { finalize?(): void; [Symbol.dispose]?(): void }): void {
  if (statement.finalize !== undefined) statement.finalize();
  else statement[Symbol.dispose]?.();
}

async function loadSqlite(): Promise<Open> {
  if (process.versions["bun"] !== undefined) {
    const { Database, constants: is } = (await import(BUN_SQLITE)) as BunSqlite;
    const write = is.SQLITE_OPEN_READWRITE | is.SQLITE_OPEN_CREATE;
    return (place, access) =>
      new Database(place, (access === "write" ? write : is.SQLITE_OPEN_READONLY) | is.SQLITE_OPEN_URI);
  }
  const { DatabaseSync } = loadBuiltin() ?? (await loadPackage());
  return (place, access) => new DatabaseSync(place, { readOnly: access !== "write" });
}

function loadBuiltin(): NodeSqlite | undefined {
  const { emitWarning } = process;
  // Node warns that the module is experimental when it is loaded.
  process.emitWarning = (warning: string | Error, ...more: unknown[]) => {
    if (!String(warning).includes("SQLite")) (emitWarning as (...all: unknown[]) => void)(warning, ...more);
  };
  try {
    return process.getBuiltinModule?.("node:sqlite") as NodeSqlite | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

async function loadPackage(): Promise<NodeSqlite> {
  try {
    return (await import("@photostructure/sqlite")) as unknown as NodeSqlite;
  } catch (error) {
    const message = `A store in a file requires Node 22.13 or newer, Bun or Deno; Node ${process.versions.node} requires another package: npm install @photostructure/sqlite@1`;
    throw new ConfigError(message, { cause: error });
  }
}
