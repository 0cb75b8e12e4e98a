import { pathToFileURL } from "node:url";
import { requireBun, requireDeno, requireNode24 } from "../requirement.js";

const JOURNALS = `${import.meta.dirname}/../../packages/openenv/dist/session/journals`;

/** What programs in tests import to use a journal in a file, as it is built. */
export const FILE_STORES = [
  { store: "LMDB", ending: "lmdb", module: urlOf("lmdb.js"), open: "openLmdbJournal", pageSize: 4096 },
  { store: "SQLite", ending: "db", module: urlOf("sqlite.js"), open: "openSqliteJournal", pageSize: 8192 },
] as const;

export const OWNER_MODULE = urlOf("owner.js");

/** Each store with each runtime that is there: SQLite has another binding in each of them. */
export async function storesAndRuntimes() {
  const [node24, bun, deno] = [await requireNode24(), await requireBun(), await requireDeno()];
  const runtimes = [
    { runtime: "this Node", command: [process.execPath], isThere: true },
    { runtime: "Node 24", command: [node24.path], isThere: node24.available },
    { runtime: "Bun", command: [bun.path], isThere: bun.available },
    { runtime: "Deno", command: [deno.path, "run", "-A"], isThere: deno.available },
  ];
  return FILE_STORES.flatMap((store) => {
    const wanted = store.store === "SQLite" ? runtimes : runtimes.slice(0, 1);
    return wanted.map((runtime) => ({ ...store, ...runtime }));
  });
}

function urlOf(name: string): string {
  return pathToFileURL(`${JOURNALS}/${name}`).href;
}
