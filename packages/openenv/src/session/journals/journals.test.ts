import { chmod, mkdtemp, readdir, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { startOwner, testJournal } from "../../../../../test-support/journals/contract.js";
import { dropTornFile } from "./boot-mark.js";
import { openLmdbJournal } from "./lmdb.js";
import { MemoryStore, openMemoryJournal } from "./memory.js";
import { areSiblings, hasEnded, ownerName } from "./owner.js";

const folder = await mkdtemp(join(tmpdir(), "openenv-journal-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
let path = "";
let files = 0;
beforeEach(() => {
  path = join(folder, `${++files}.lmdb`);
});
const open = (durability: "process" | "disk" = "process", owner = ownerName("")) =>
  openLmdbJournal({ path, durability, owner });

describe("a journal in memory", () => {
  let store = new MemoryStore();
  beforeEach(() => {
    store = new MemoryStore();
  });
  testJournal(
    async (owner) => openMemoryJournal(owner, store),
    (journal) => journal.close(),
  );
});

describe.each(["process", "disk"] as const)("a journal in a file with the durability %s", (durability) => {
  testJournal(
    (owner) => open(durability, owner),
    async () => {},
  );

  test("is readable by its user only, and is read again by the next process", async () => {
    const owner = startOwner();
    const first = await open(durability, owner.name);
    await first.create("s", "hash");
    await first.commit("s", 1, { put: [["image", Buffer.from("1")]], remove: [] });
    await first.close();
    await owner.kill();
    for (const name of (await readdir(folder)).filter((one) => join(folder, one).startsWith(path))) {
      expect([name, (await stat(join(folder, name))).mode & 0o777]).toEqual([name, 0o600]);
    }
    await using second = await open(durability);
    expect(Buffer.from((await second.takeOver("s"))?.cells.get("image") ?? []).toString()).toBe("1");
  });
});

test("other work gets its turn while many sessions are listed, and may close the journal", async () => {
  const journal = await open();
  const ids = Array.from({ length: 1200 }, (_, i) => `session-${i}`).sort();
  await Promise.all(ids.map((id) => journal.create(id, "hash")));
  let turns = 0;
  const listing = journal.list();
  setImmediate(() => turns++);
  expect((await listing).map(({ id }) => id)).toEqual(ids);
  expect(turns).toBe(1);
  const late = journal.list();
  await journal.close();
  await expect((async () => late)()).rejects.toMatchObject({ code: "JOURNAL_UNAVAILABLE" });
});

const note = (name = "note") => ({ put: [[name, Buffer.from("1")] as const], remove: [] });

test("a commit is refused after a takeover that its process did not see, and those of other sessions are not", async () => {
  await using owner = startOwner();
  await using first = await open("process", owner.name);
  for (const id of ["s", "t"]) {
    await first.create(id, "hash");
    await first.commit(id, 1, note());
  }
  await owner.kill();
  await using second = await open();
  await second.takeOver("s");
  await expect(first.commit("s", 1, note())).rejects.toMatchObject({ code: "EPOCH_LOST" });
  await first.commit("t", 1, note());
  await second.takeOver("t");
  await expect(first.commit("t", 1, note())).rejects.toMatchObject({ code: "EPOCH_LOST" });
  expect(await second.takeOver("s")).toMatchObject({ epoch: 3 });
});

test("what is undone with a failed transaction is not taken for stored", async () => {
  await using journal = await open();
  const unstorable = note("x".repeat(10_000));
  const undone = [journal.create("s", "hash"), journal.commit("s", 1, note()), journal.commit("s", 1, unstorable)];
  for (const one of await Promise.allSettled(undone)) {
    expect(one).toMatchObject({ reason: { code: "JOURNAL_UNAVAILABLE" } });
  }
  await expect(journal.commit("s", 1, note())).rejects.toMatchObject({ code: "EPOCH_LOST" });
});

describe("a file that is not a journal", () => {
  test.each([
    ["other content", () => writeFile(path, "x".repeat(20_000)), "it is not a journal"],
    ["a folder", () => mkdtemp(path).then((made) => (path = made)), "EISDIR"],
    ["in a place that does not exist", () => (path = join(folder, "none/sessions.lmdb")), "its folder does not exist"],
  ])("is refused at the start: %s", async (_what, make, reason) => {
    await make();
    await expect(open()).rejects.toMatchObject({ code: "INVALID_CONFIG", message: expect.stringContaining(reason) });
  });

  test("is refused when its end is missing", async () => {
    const journal = await open("disk");
    await journal.create("s", "hash");
    for (let i = 0; i < 50; i++) {
      await journal.commit("s", 1, { put: [[`cell ${i}`, Buffer.alloc(3000)]], remove: [] });
    }
    await journal.close();
    await truncate(path, 64 * 1024);
    await expect(open()).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringContaining("damaged or missing"),
    });
  });

  test.skipIf(process.getuid?.() === 0)("is refused when it cannot be written", async () => {
    await (await open()).close();
    await chmod(path, 0o400);
    await expect(open()).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });
});

test("a file that was not written to the disk is dropped after a restart of the machine", async () => {
  const journal = await open("process");
  await journal.create("s", "hash");
  await journal.close();
  expect(dropTornFile(path)).toBe(false);
  await writeFile(`${path}-boot`, "another boot");
  expect(dropTornFile(path)).toBe(true);
  await using again = await open("disk");
  expect(await again.list()).toEqual([]);
  expect(dropTornFile(path)).toBe(false);
});

test("the mark of the start of the machine is not written again, because it would be empty for a moment", async () => {
  const look = async () => {
    await (await open("process")).close();
    const { ino, mtimeMs } = await stat(`${path}-boot`);
    return { ino, mtimeMs };
  };
  expect(await look()).toEqual(await look());
  expect(await readdir(dirname(path))).not.toContain(`${basename(path)}-boot-new`);
});

test("an owner is a process: its id alone does not name it", async () => {
  const owner = startOwner();
  expect(hasEnded(owner.name)).toBe(false);
  const [pid] = owner.name.split(".");
  expect(hasEnded(owner.name.replace(/^\d+\.\d*/, `${pid}.1`))).toBe(true);
  expect(hasEnded("1.1/1.1/another-machine")).toBeUndefined();
  await owner.kill();
  expect(hasEnded(owner.name)).toBe(true);
  expect(hasEnded(ownerName("w12-"))).toBe(false);
  expect(areSiblings(ownerName("w1-"), ownerName("w2-"))).toBe(true);
  expect(areSiblings(ownerName("w1-"), "w2-1.1/1.1/another-machine")).toBe(false);
});
