import { chmod, mkdir, mkdtemp, readdir, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { ownerName } from "#core/server/sqlite/owner.js";
import { JOURNAL_MODULE } from "../../../../../test-support/journals/file-journal.js";
import { startOwner, testJournal } from "../../../test/journal-contract.js";
import type { Durability } from "../journal.js";
import { openSqliteJournal } from "./sqlite-journal.js";

const folder = await mkdtemp(join(tmpdir(), "openenv-journal-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
let files = 0;
const note = (name = "note", value: Uint8Array = Buffer.from("1")) => ({ put: [[name, value] as const], remove: [] });
/** Changes that the store refuses. */
const unstorable = note("note", null as never);

/** The first two pages of LMDB, which has been the journal in a file. */
function otherDatabase(): Buffer {
  const pages = Buffer.alloc(8192);
  for (const page of [0, 4096]) pages.writeUInt32LE(0xbeefc0de, page + 24);
  return pages;
}

const PLACES = [
  { where: "with all of it on the event loop", openJournal: openSqliteJournal },
  {
    where: "as it is built: what waits for the disk is in a thread",
    openJournal: (await import(JOURNAL_MODULE)).openSqliteJournal as typeof openSqliteJournal,
  },
];

describe.each(PLACES)("a journal in a file, $where", ({ openJournal }) => {
  let path = "";
  beforeEach(() => {
    path = join(folder, `${++files}.db`);
  });
  /** As the first process of a server does. */
  const open = (durability: Durability = "process", owner = ownerName("")) =>
    openJournal({ path, durability, owner, isFirst: true });

  describe.each(["process", "disk"] as const)("with the durability %s", (durability) => {
    testJournal(
      (owner) => openJournal({ path, durability, owner }),
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
    const refused = { code: "JOURNAL_UNAVAILABLE" };
    const late = expect((async () => journal.list())()).rejects.toMatchObject(refused);
    await journal.close();
    await late;
  });

  test("a commit is refused after a takeover that its process did not see, and those of other sessions are not", async () => {
    await using owner = startOwner();
    await using first = await openJournal({ path, durability: "process", owner: owner.name });
    for (const id of ["s", "t"]) {
      await first.create(id, "hash");
      await first.commit(id, 1, note());
    }
    await owner.kill();
    await using second = await openJournal({ path, durability: "process", owner: ownerName("") });
    await second.takeOver("s");
    await expect(first.commit("s", 1, note())).rejects.toMatchObject({ code: "EPOCH_LOST" });
    await first.commit("t", 1, note());
    await second.takeOver("t");
    await expect(first.commit("t", 1, note())).rejects.toMatchObject({ code: "EPOCH_LOST" });
    expect(await second.takeOver("s")).toMatchObject({ epoch: 3 });
  });

  test("an empty value is not taken for damage", async () => {
    await using journal = await open();
    await journal.create("s", "hash");
    await journal.commit("s", 1, note("empty", new Uint8Array()));
    expect(await journal.read("s")).toMatchObject({ isDamaged: false });
    expect((await journal.takeOver("s"))?.cells.get("empty")).toHaveLength(0);
  });

  test("what is undone with a failed transaction is not taken for stored", async () => {
    await using journal = await open();
    const undone = [journal.create("s", "hash"), journal.commit("s", 1, note()), journal.commit("s", 1, unstorable)];
    for (const one of await Promise.allSettled(undone)) {
      expect(one).toMatchObject({ reason: { code: "JOURNAL_UNAVAILABLE" } });
    }
    await expect(journal.commit("s", 1, note())).rejects.toMatchObject({ code: "EPOCH_LOST" });
  });

  test("what cannot be stored of one session does not hold the commits of others in the same turn", async () => {
    await using journal = await open();
    await Promise.all(["s", "t", "u"].map((id) => journal.create(id, "hash")));
    const turn = ["s", "t", "u"].map((id) => journal.commit(id, 1, id === "t" ? unstorable : note()));
    expect((await Promise.allSettled(turn)).map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    for (const id of ["s", "t", "u"]) {
      await journal.commit(id, 1, note("later"));
      expect(await journal.read(id)).toMatchObject({ isDamaged: false });
      expect([...((await journal.read(id))?.cells.keys() ?? [])].sort()).toEqual(
        id === "t" ? ["later"] : ["later", "note"],
      );
    }
  });

  describe("a file that is not a journal", () => {
    test.each([
      [
        "other content",
        () => writeFile(path, "x".repeat(20_000)),
        "it is not a journal of sessions: name another file",
      ],
      ["a file of another database", () => writeFile(path, otherDatabase()), "it is not a journal of sessions"],
      ["a few bytes", () => writeFile(path, "x"), "it is not a journal of sessions"],
      ["a folder", () => mkdir(path), "it is not a regular file"],
      [
        "in a place that does not exist",
        () => (path = join(folder, "none", basename(path))),
        "its folder does not exist",
      ],
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
        message: expect.stringMatching(/damaged/),
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
    const same = await open("process");
    expect(await same.list()).toHaveLength(1);
    await same.close();
    await writeFile(`${path}-boot`, "another boot");
    await using again = await open("disk");
    expect(await again.list()).toEqual([]);
    expect((await readdir(folder)).filter((name) => name.endsWith("-boot"))).not.toContain(`${basename(path)}-boot`);
  });

  test("the mark of the start of the machine is not written again, because it would be empty for a moment", async () => {
    const look = async () => {
      await (await open("process")).close();
      const { ino, mtimeMs } = await stat(`${path}-boot`);
      return { ino, mtimeMs };
    };
    expect(await look()).toEqual(await look());
    expect(await readdir(dirname(path))).not.toContain(`${basename(path)}-boot-${process.pid}`);
  });
});

test("a large commit of a worker is written in a thread, and the calls of its session stay in order", {
  timeout: 60_000,
}, async () => {
  const path = join(folder, "large.db");
  const { openSqliteJournal: openBuilt } = (await import(JOURNAL_MODULE)) as {
    openSqliteJournal: typeof openSqliteJournal;
  };
  await using owner = startOwner();
  const worker = await openBuilt({ path, durability: "process", owner: owner.name });
  await worker.create("s", "hash");
  await worker.create("t", "hash");
  await worker.commit("s", 1, note());
  const large = Buffer.alloc(32_000_000, 7);
  let turns = 0;
  let isStored = false;
  const stored = Promise.resolve(worker.commit("s", 1, note("image", large))).then(() => (isStored = true));
  for (; !isStored; turns++) await new Promise<void>((resolve) => setImmediate(resolve));
  await stored;
  // On the event loop it takes one.
  expect(turns).toBeGreaterThan(5);
  const cellsOf = async (id: string) =>
    [...((await worker.read(id))?.cells ?? [])].map(([name, { length }]) => [name, length]).sort();
  const small = Promise.all([
    worker.commit("s", 1, note("image", Buffer.alloc(100))),
    worker.commit("t", 1, note()),
    worker.commit("s", 1, note("image", Buffer.alloc(300_000))),
    worker.commit("s", 1, note("other")),
    worker.release("s", 1),
  ]);
  await small;
  expect(await cellsOf("s")).toEqual([
    ["image", 300_000],
    ["note", 1],
    ["other", 1],
  ]);
  expect(await worker.find("s")).toMatchObject({ owner: null });
  // Taken over, it is again on the event loop, with another large commit in the thread, and with the right sums.
  for (let epoch = 2; epoch < 5; epoch++) {
    expect(await worker.takeOver("s")).toMatchObject({ epoch, isDamaged: false });
    await worker.commit("s", epoch, note("note", Buffer.alloc(epoch)));
    await worker.commit("s", epoch, note("image", Buffer.alloc(300_000 + epoch)));
    await worker.commit("s", epoch, note("note", Buffer.alloc(epoch + 1)));
    expect(await worker.read("s")).toMatchObject({ isDamaged: false });
    await expect((async () => worker.commit("s", epoch - 1, note()))()).rejects.toMatchObject({ code: "EPOCH_LOST" });
  }
  expect(await cellsOf("s")).toEqual([
    ["image", 300_004],
    ["note", 5],
    ["other", 1],
  ]);
  await worker.end("s", 4, "over");
  expect(await worker.create("s", "hash")).toBe(5);
  await worker.commit("s", 5, note());
  await worker.close();
  await using next = await openBuilt({ path, durability: "process", owner: ownerName("") });
  expect(await next.read("s")).toMatchObject({ epoch: 5, isDamaged: false });
  expect(await next.read("t")).toMatchObject({ epoch: 1, isDamaged: false });
});
