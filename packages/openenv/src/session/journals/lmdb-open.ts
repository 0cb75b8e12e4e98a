import { accessSync, chmodSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { RootDatabase } from "lmdb";
import { ConfigError } from "../../errors.js";
import { FILE_MODE, isTorn, markBoot } from "./boot-mark.js";
import type { Durability } from "./journal.js";
import { addMissing, checkHeader, missingBytes, prepareCheck } from "./lmdb-file.js";
import { LmdbMutex } from "./lmdb-mutex.js";
import { hasHeader } from "./lmdb-pages.js";

export type Key = [kind: "entry" | "head", id: string] | [kind: "cell", id: string, name: string] | [kind: "taken"];
export type Database = RootDatabase<Uint8Array, Key>;

/** A file of LMDB that this process has opened. */
export interface LmdbFile {
  db: Database;
  /** The lock of writes. */
  mutex?: LmdbMutex | undefined;
  /** A folder with a copy of the file. */
  copies?: string;
}

type Opened = Partial<LmdbFile>;
type Open = typeof import("lmdb").open;

const COPY = "copy.lmdb";

/**
 * Opens a file for a server, or makes it.
 * @throws ConfigError when the package `lmdb` is not installed, Error when the file cannot be used.
 */
export async function openFile(path: string, durability: Durability): Promise<LmdbFile> {
  const { open } = await loadLmdb();
  const opened: Opened = {};
  try {
    // LMDB would make the folder.
    if (!existsSync(dirname(path))) throw new Error("its folder does not exist");
    if (existsSync(path) && statSync(path).size > 0 && !hasHeader(path)) throw new Error("it is not a journal");
    const mutex = (opened.mutex = new LmdbMutex(open, path));
    const { db, check } = mutex.run(() => {
      checkHeader(path);
      const noSync = durability === "process";
      const options = { path, noSubdir: true, noSync, overlappingSync: false, permissionsMode: FILE_MODE } as const;
      const db = (opened.db = open<Uint8Array, Key>({ ...options, encoding: "binary" }));
      chmodSync(path, FILE_MODE);
      db.readerCheck();
      addMissing(db, path);
      return { db, check: prepareCheck(db, path) };
    });
    check();
    markBoot(path, durability);
    return { db, mutex };
  } catch (error) {
    await closeFile(opened);
    throw error;
  }
}

/**
 * Opens a file only to read it, also while a server uses it, and changes nothing in its folder.
 * @throws ConfigError when the package `lmdb` is not installed, Error when the file cannot be read.
 */
export async function openFileToRead(path: string): Promise<LmdbFile> {
  const { open } = await loadLmdb();
  const opened: Opened = {};
  try {
    if (statSync(path).size === 0) throw new Error("it is empty");
    // Without write access to its files of locks LMDB uses none, and disturbs no other process.
    if (isWritable(`${path}-mutex-lock`)) opened.mutex = new LmdbMutex(open, path);
    const run = <T>(action: () => T): T => (opened.mutex === undefined ? action() : opened.mutex.run(action));
    const check = run(() => {
      checkHeader(path, "r");
      if (isTorn(path)) throw new Error("parts of it may be missing: the machine has restarted since it was written");
      // Without a file of locks no process uses it, and LMDB would make one.
      if (existsSync(`${path}-lock`)) {
        opened.db = open<Uint8Array, Key>({ path, noSubdir: true, encoding: "binary", readOnly: true });
      }
      if (opened.db !== undefined && missingBytes(opened.db, path) === 0) return prepareCheck(opened.db, path);
      opened.copies = mkdtempSync(join(tmpdir(), "openenv-journal-"));
      copyFileSync(path, join(opened.copies, COPY));
      return undefined;
    });
    if (check !== undefined) check();
    else {
      await opened.db?.close();
      opened.db = openCopy(open, join(opened.copies ?? "", COPY));
    }
    return opened as LmdbFile;
  } catch (error) {
    await closeFile(opened);
    throw error;
  }
}

export async function closeFile({ db, mutex, copies }: Opened): Promise<void> {
  await db?.close();
  await mutex?.close();
  if (copies !== undefined) rmSync(copies, { recursive: true, force: true });
}

/** No other process knows the copy. */
function openCopy(open: Open, path: string): Database {
  chmodSync(path, FILE_MODE);
  const db = open<Uint8Array, Key>({ path, noSubdir: true, encoding: "binary", noSync: true, overlappingSync: false });
  addMissing(db, path);
  prepareCheck(db, path)();
  return db;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function loadLmdb(): Promise<{ open: Open }> {
  try {
    return await import("lmdb");
  } catch (error) {
    throw new ConfigError("A journal in a file requires another package: npm install lmdb", { cause: error });
  }
}
