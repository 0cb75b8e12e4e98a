import { copyFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { requireBun, requireDeno, requireNode24 } from "../requirement.js";

const BUILT = `${import.meta.dirname}/../../packages/openenv/dist`;

/** What programs in tests import to use a journal in a file, as it is built. */
export const JOURNAL_MODULE = urlOf("parts/durable/journals/sqlite/sqlite-journal.js");
export const OWNER_MODULE = urlOf("server/sqlite/owner.js");

/** The runtimes that are there: each has another binding to SQLite. */
export async function findRuntimes() {
  const [node24, bun, deno] = [await requireNode24(), await requireBun(), await requireDeno()];
  return [
    { runtime: "this Node", command: [process.execPath], isThere: true },
    { runtime: "Node 24", command: [node24.path], isThere: node24.available },
    { runtime: "Bun", command: [bun.path], isThere: bun.available },
    { runtime: "Deno", command: [deno.path, "run", "-A"], isThere: deno.available },
  ];
}

/** What would be there if the process that has it were killed now. */
export async function copyFileJournal(from: string, to: string): Promise<void> {
  for (const suffix of ["", "-wal"]) await copyFile(from + suffix, to + suffix);
}

function urlOf(name: string): string {
  return pathToFileURL(`${BUILT}/${name}`).href;
}
