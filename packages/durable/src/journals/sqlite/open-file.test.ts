import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync, readFileSync } from "node:fs";
import { copyFile, mkdtemp, readdir, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { SqliteDatabase } from "#core/server/sqlite/database.js";
import { ownerName } from "#core/server/sqlite/owner.js";
import { checkFileSystem } from "#core/server/sqlite/place.js";
import { nextTurn } from "#parts/sockets/scheduling";
import { JOURNAL_MODULE } from "../../../../../test-support/journals/file-journal.js";
import { startOwner } from "../../../test/journal-contract.js";
import type { Durability } from "../journal.js";

import { openSqliteJournal, readSqliteJournal } from "./sqlite-journal.js";

const folder = await mkdtemp(join(tmpdir(), "openenv-sqlite-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
let path = "";
let files = 0;
beforeEach(() => {
  path = join(folder, `${++files}.db`);
});
const open = (durability: Durability = "process", isFirst = true) =>
  openSqliteJournal({ path, durability, owner: ownerName(""), isFirst });
const openServer = (owner: string) => openSqliteJournal({ path, durability: "process", owner, isFirst: true });
const note = (value: string) => ({ put: [["note", Buffer.from(value)] as const], remove: [] });

/** Changes the file as another program would. */
async function change(sql: string): Promise<void> {
  const db = await SqliteDatabase.open(path, "write");
  db.exec("PRAGMA busy_timeout = 10000");
  db.exec(sql);
  db.read("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

test("loading SQLite prints no warning", async () => {
  const built = JOURNAL_MODULE;
  const script = `const { openSqliteJournal } = await import(${JSON.stringify(built)});
    await (await openSqliteJournal({ path: process.argv[1], durability: "process", owner: "o" })).close();
    process.emitWarning("another");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, path]);
  const errors = await text(child.stderr);
  expect(errors).toContain("another");
  expect(errors.match(/Warning/g)).toHaveLength(1);
});

test("the thread that waits for the disk ends with its process, and does not end it before an answer", async () => {
  const built = JOURNAL_MODULE;
  const script = `const { openSqliteJournal } = await import(${JSON.stringify(built)});
    const journal = await openSqliteJournal({ path: process.argv[1], durability: "disk", owner: "o" });
    await journal.create("s", "hash");
    setTimeout(() => console.log("ended late"), 30_000).unref();
    await journal.commit("s", 1, { put: [["a", Buffer.from("1")]], remove: [] });
    console.log((await journal.read("s")).cells.size);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, path]);
  expect(await text(child.stdout)).toBe("1\n");
  await using journal = await open("disk");
  expect(await journal.list()).toHaveLength(1);
});

test("a file that is deleted or replaced takes no commit, and no new session", async () => {
  await using journal = await open();
  await journal.create("s", "hash");
  const refused = { code: "JOURNAL_UNAVAILABLE", message: expect.stringContaining("deleted or replaced") };
  await rename(path, `${path}-old`);
  // The name is not looked at for each commit.
  await vi.waitFor(() => expect(journal.commit("s", 1, note("1"))).rejects.toMatchObject(refused), 10_000);
  await copyFile(`${path}-old`, path);
  await expect(journal.commit("s", 1, note("2"))).rejects.toMatchObject(refused);
  await expect(journal.create("t", "hash")).rejects.toMatchObject(refused);
  await expect((async () => journal.list())()).rejects.toMatchObject(refused);
  await unlink(path);
  await rename(`${path}-old`, path);
  await journal.commit("s", 1, note("3"));
  expect((await journal.read("s"))?.cells.size).toBe(1);
});

test("a second server is refused while the first lives, and has the file at once when that one was killed", async () => {
  await using owner = startOwner();
  await using first = await openServer(owner.name);
  await first.create("s", "hash");
  const [pid] = owner.name.split(".");
  await expect(open()).rejects.toMatchObject({
    code: "INVALID_CONFIG",
    message: expect.stringContaining(`another server that is still running (process ${pid} on `),
  });
  // A worker of the first server has the file, too.
  await using worker = await openSqliteJournal({
    path,
    durability: "process",
    owner: `w1-1.1/${owner.name}`,
  });
  await worker.create("t", "hash");
  await owner.kill();
  await using second = await open();
  expect(await second.takeOver("s")).toMatchObject({ epoch: 2 });
  // The first one was only suspended.
  await vi.waitFor(
    () =>
      expect(worker.create("u", "hash")).rejects.toMatchObject({
        code: "EPOCH_LOST",
        message: expect.stringContaining("Another server has taken over the journal"),
      }),
    10_000,
  );
});

test("a server that was closed leaves the file to any other", async () => {
  await (await openServer("1.1/1.1/another-machine")).close();
  await using next = await open();
  expect(await next.list()).toEqual([]);
});

test.each([
  ["long ago", -16_000],
  ["with a clock in the future", 3_600_000],
])("a server that cannot be seen from here and wrote %s has ended", async (_when, offset) => {
  await (await open()).close();
  await change(`INSERT INTO servers VALUES ('1.1/1.1/another-machine', ${Date.now() + offset})`);
  await using next = await open();
  await next.create("s", "hash");
});

test("a server that cannot be seen from here is waited for, and refuses the next one when it writes again", async () => {
  await (await open()).close();
  const beat = Date.now() - 14_000;
  await change(`INSERT INTO servers VALUES ('1.1/1.1/another-machine', ${beat})`);
  await (await open()).close();
  // The other one has not written for 15 seconds by then.
  expect(Date.now() - beat).toBeGreaterThan(15_000);
  await change(`INSERT INTO servers VALUES ('1.1/1.1/another-machine', ${Date.now()})`);
  let isRefused = false;
  const refused = expect(open()).rejects.toMatchObject({
    code: "INVALID_CONFIG",
    message: expect.stringContaining("another server that is still running (process 1 on another-machine)"),
  });
  void refused.finally(() => (isRefused = true)).catch(() => {});
  const other = await SqliteDatabase.open(path, "write");
  while (!isRefused) {
    other.exec(`UPDATE servers SET beat = ${Date.now()}`);
    await new Promise<void>(nextTurn);
  }
  other.close();
  await refused;
});

test.each(["", "-wal", "-shm", "-boot"])("a link in the place of the file%s is refused", async (suffix) => {
  await writeFile(join(folder, "target"), "");
  await symlink(join(folder, "target"), path + suffix);
  await expect(open()).rejects.toMatchObject({
    code: "INVALID_CONFIG",
    message: expect.stringContaining("is not a regular file"),
  });
  expect(readFileSync(join(folder, "target"), "utf8")).toBe("");
});

test.each([
  ["NFS", 0x6969],
  ["SMB", 0xff534d42],
  ["9p", 0x01021997],
  ["FUSE or virtiofs", 0x65735546],
])("a file system of the kind %s is refused, unless one machine alone uses it", async (kind, type) => {
  expect(() => checkFileSystem(folder, "journal", type)).toThrow(
    `its file system (${kind}) may not have the locks of a local one`,
  );
  const warned = once(process, "warning");
  vi.stubEnv("OPENENV_ANY_FILE_SYSTEM", "1");
  checkFileSystem(folder, "journal", type);
  vi.unstubAllEnvs();
  expect(String(await warned)).toContain(kind);
});

test("a file of a newer version is refused, and both versions are named", async () => {
  await (await open()).close();
  await change("PRAGMA user_version = 7");
  const message = expect.stringMatching(/version 7, and this program knows 1/);
  await expect(open()).rejects.toMatchObject({ code: "INVALID_CONFIG", message });
  await expect(readSqliteJournal(path)).rejects.toMatchObject({ code: "INVALID_CONFIG", message });
});

test("a file of another program is refused, and not changed", async () => {
  await change("CREATE TABLE sessions (name TEXT)");
  const before = readFileSync(path);
  await expect(open()).rejects.toMatchObject({
    code: "INVALID_CONFIG",
    message: expect.stringContaining("it is not a journal"),
  });
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a missing index entry is found at the start, because its session would be opened anew", async () => {
  const journal = await open("disk");
  await journal.create("first", "hash");
  await journal.close();
  // Only the index has the text twice in a row with this length.
  const bytes = readFileSync(path);
  const places: number[] = [];
  for (let at = bytes.indexOf("first"); at >= 0; at = bytes.indexOf("first", at + 1)) places.push(at);
  expect(places).toHaveLength(2);
  for (const at of places) {
    const damaged = Buffer.from(bytes);
    damaged.write("g", at);
    await writeFile(path, damaged);
    await expect(open()).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringContaining("it is damaged"),
    });
  }
});

test("a write that another program does not end holds commits, and fails them after a second", async () => {
  await using journal = await open();
  await journal.create("s", "hash");
  const other = await SqliteDatabase.open(path, "write");
  other.exec("BEGIN IMMEDIATE");
  await expect(journal.commit("s", 1, note("1"))).rejects.toMatchObject({ code: "JOURNAL_UNAVAILABLE" });
  const held = journal.commit("s", 1, note("2"));
  // A commit that waits for the lock in its turn would not let the other connection give it up.
  for (let turns = 0; turns < 3; turns++) await new Promise<void>(nextTurn);
  other.exec("ROLLBACK");
  other.close();
  await held;
  expect(Buffer.from((await journal.read("s"))?.cells.get("note") ?? "").toString()).toBe("2");
});

test("a log that another program keeps long is reported, and is short again after its transaction", {
  timeout: 60_000,
}, async () => {
  await using journal = await open();
  await journal.create("s", "hash");
  const reader = await SqliteDatabase.open(path, "read");
  reader.exec("BEGIN");
  reader.read("SELECT count(*) FROM sessions");
  const warned = once(process, "warning");
  const sizeOfLog = () => lstatSync(`${path}-wal`).size;
  const large = Buffer.alloc(8_000_000);
  while (sizeOfLog() < 270_000_000) await journal.commit("s", 1, { put: [["image", large]], remove: [] });
  expect(String(await warned)).toMatch(/The log of a store has 2\d\d MB/);
  reader.exec("COMMIT");
  reader.close();
  await expect.poll(sizeOfLog, { timeout: 30_000 }).toBeLessThan(70_000_000);
  expect((await journal.read("s"))?.cells.get("image")).toHaveLength(8_000_000);
});

test("a session whose pages are damaged is lost alone, while the file is open", async () => {
  const journal = await open();
  const large = Buffer.alloc(100_000, 7);
  await Promise.all(["s", "t"].map((id) => journal.create(id, "ab".repeat(32))));
  for (const id of ["s", "t"]) await journal.commit(id, 1, { put: [["image", large]], remove: [] });
  await journal.close();
  // The first of the pages that continue the value of the first session, by the number that leads to the next one.
  const bytes = readFileSync(path);
  const at = bytes.indexOf(Buffer.alloc(8000, 7));
  const page = at - (at % 8192);
  bytes.writeUInt32BE(0xffffff, page);
  await writeFile(path, bytes);
  await using damaged = await open("process", false);
  const records = [await damaged.takeOver("s"), await damaged.takeOver("t")];
  expect(records.map((record) => record?.isDamaged)).toEqual([true, false]);
  const turn = ["s", "t"].map((id) => damaged.commit(id, 2, { put: [["image", large]], remove: [] }));
  const [one, other] = await Promise.allSettled(turn);
  expect(one).toMatchObject({ reason: { isDamage: true } });
  expect(other).toMatchObject({ status: "fulfilled" });
  // Its cells cannot be removed, and are not in the way of the next session with this id.
  await damaged.end("s", 2, "lost");
  expect(await damaged.find("s")).toMatchObject({ ended: { reason: "lost" } });
  expect(await damaged.create("s", "ab".repeat(32))).toBe(3);
  await damaged.commit("s", 3, note("again"));
  expect(await damaged.read("s")).toMatchObject({ epoch: 3, isDamaged: false });
});

test("a log whose end SQLite would drop is refused", async () => {
  const source = await open();
  await source.create("s", "hash");
  for (let i = 0; i < 30; i++) await source.commit("s", 1, note(String(i)));
  // As after a kill: the log is not yet in the file.
  const [from, to] = [path, join(folder, "killed.db")];
  for (const suffix of ["", "-wal"]) await copyFile(from + suffix, to + suffix);
  await source.close();
  path = to;
  const log = readFileSync(`${path}-wal`);
  const frames = Math.floor((log.length - 32) / (8192 + 24));
  for (const at of [20, 32 + 100, 32 + (8192 + 24) * (frames - 3) + 50]) {
    const damaged = Buffer.from(log);
    damaged[at] = (damaged[at] as number) ^ 4;
    await writeFile(`${path}-wal`, damaged);
    const refused = { code: "INVALID_CONFIG", message: expect.stringContaining("-wal is damaged") };
    await expect(open()).rejects.toMatchObject(refused);
    await expect(readSqliteJournal(path)).rejects.toMatchObject(refused);
  }
  await writeFile(`${path}-wal`, log);
  await using whole = await open();
  expect(Buffer.from((await whole.read("s"))?.cells.get("note") ?? "").toString()).toBe("29");
});

/** Node before 22.15 has SQLite, and opens no address. */
const opensAddresses = !/^v22\.1[34]\./.test(process.version);

test.skipIf(!opensAddresses)("a reader makes no file next to one that no process has open", async () => {
  const journal = await open("disk");
  await journal.create("s", "hash");
  await journal.close();
  const list = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.startsWith(basename(path)));
  for (const name of await list()) if (/-(wal|shm)$/.test(name)) await unlink(join(folder, name));
  const before = await list();
  const { mtimeMs } = lstatSync(path);
  const reader = await readSqliteJournal(path);
  expect(await reader.list()).toMatchObject([{ id: "s" }]);
  await reader.close();
  expect(await list()).toEqual(before);
  expect(lstatSync(path).mtimeMs).toBe(mtimeMs);
});

test.skipIf(process.getBuiltinModule("node:sqlite") !== undefined)(
  "a Node without SQLite is refused with what to install",
  async () => {
    const built = JOURNAL_MODULE;
    const hooks = `export const resolve = (name, context, next) => {
      if (name.startsWith("@photostructure")) throw new Error("Cannot find package");
      return next(name, context);
    };`;
    const script = `const { register } = await import("node:module");
      register("data:text/javascript," + encodeURIComponent(${JSON.stringify(hooks)}));
      const { openSqliteJournal } = await import(${JSON.stringify(built)});
      await openSqliteJournal({ path: process.argv[1], durability: "process", owner: "o" }).catch((error) =>
        console.log(error.code, error.message));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, path]);
    expect(await text(child.stdout)).toMatch(/^INVALID_CONFIG .*npm install @photostructure\/sqlite@1\n$/);
  },
);
