import { copyFile } from "node:fs/promises";
import { openLmdbJournal } from "../../packages/openenv/src/session/journals/lmdb.js";
import { openSqliteJournal } from "../../packages/openenv/src/session/journals/sqlite.js";

/** The ending of journal files in tests of sessions, which run once with each store. */
export const ENDING = process.env["OPENENV_TEST_JOURNAL"] ?? "lmdb";

/** A journal in a file, as a process other than its server has it. */
export const openFileJournal = ENDING === "db" ? openSqliteJournal : openLmdbJournal;

/** What would be there if the process that has it were killed now. */
export async function copyFileJournal(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  if (ENDING === "db") await copyFile(`${from}-wal`, `${to}-wal`);
}
