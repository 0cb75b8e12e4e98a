import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { ownerName } from "#core/server/sqlite/owner.js";
import type { Journal, JournalChanges } from "../src/journals/journal.js";

/** A process that owns sessions in the tests of journals. */
export interface Owner extends AsyncDisposable {
  name: string;
  /** Kills it. Resolves when it has ended. */
  kill(): Promise<void>;
}

export function startOwner(): Owner {
  const child = spawn("sleep", ["1000"]);
  const ended = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  return { name: ownerName("", child.pid), kill, [Symbol.asyncDispose]: kill };
}

const HASH = "ab".repeat(32);
const text = (value: Uint8Array | undefined): string | undefined => value && Buffer.from(value).toString();
const changes = (put: Record<string, string>, remove: string[] = []): JournalChanges => ({
  put: Object.entries(put).map(([name, value]) => [name, Buffer.from(value)]),
  remove,
});

/**
 * What every journal keeps. `open` opens the same journal for an owner, as its process would; `die` ends the owner
 * without a release, if that takes more than its process.
 */
export function testJournal(open: (owner: string) => Promise<Journal>, die: (journal: Journal) => Promise<void>): void {
  const cleanup: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const one of cleanup.splice(0).reverse()) await one[Symbol.asyncDispose]();
  });
  const start = async (): Promise<{ journal: Journal; kill(): Promise<void> }> => {
    const owner = startOwner();
    const journal = await open(owner.name);
    cleanup.push(owner, journal);
    const kill = async (): Promise<void> => {
      await owner.kill();
      await die(journal);
    };
    return { journal, kill };
  };

  test("a session is taken over with all of its cells when its owner has ended", async () => {
    const [first, second] = [await start(), await start()];
    await first.journal.create("s", HASH);
    await first.journal.commit("s", 1, changes({ image: "1", a1: "answer", a2: "\u0000\u00ff" }));
    await first.journal.commit("s", 1, changes({ image: "2" }, ["a1", "unknown"]));
    const read = await second.journal.read("s");
    expect(read).toMatchObject({ id: "s", tokenHash: HASH, epoch: 1, ended: null });
    expect([...(read?.cells.keys() ?? [])].sort()).toEqual(["a2", "image"]);
    expect(text(read?.cells.get("a2"))).toBe("\u0000\u00ff");
    await first.kill();
    const found = await second.journal.find("s");
    expect(found).toMatchObject({ id: "s", tokenHash: HASH, epoch: 1, ended: null });
    expect(found && (await second.journal.isHeld(found))).toBe(false);
    const taken = await second.journal.takeOver("s");
    expect(taken).toMatchObject({ id: "s", tokenHash: HASH, epoch: 2, ended: null });
    expect([...(taken?.cells ?? [])].map(([name, value]) => [name, text(value)]).sort()).toEqual([
      ["a2", "\u0000\u00ff"],
      ["image", "2"],
    ]);
  });

  test("a session of an owner that lives is not taken over, until the owner releases it", async () => {
    const [first, second] = [await start(), await start()];
    await first.journal.create("s", HASH);
    const found = await second.journal.find("s");
    expect(found && (await second.journal.isHeld(found))).toBe(true);
    await expect((async () => second.journal.takeOver("s"))()).rejects.toMatchObject({ code: "SESSION_ELSEWHERE" });
    await first.journal.release("s", 1);
    expect(await second.journal.takeOver("s")).toMatchObject({ epoch: 2 });
    await expect((async () => first.journal.takeOver("s"))()).rejects.toMatchObject({ code: "SESSION_ELSEWHERE" });
  });

  test("an owner takes its own session again", async () => {
    const { journal } = await start();
    await journal.create("s", HASH);
    expect(await journal.takeOver("s")).toMatchObject({ epoch: 2 });
  });

  test("what an old owner commits, releases or ends is refused and changes nothing", async () => {
    const [first, second] = [await start(), await start()];
    await first.journal.create("s", HASH);
    await first.journal.commit("s", 1, changes({ image: "1" }));
    await first.journal.release("s", 1);
    await second.journal.takeOver("s");
    const late = (async () => first.journal.commit("s", 1, changes({ image: "late", new: "x" }, ["image"])))();
    await expect(late).rejects.toMatchObject({ code: "EPOCH_LOST" });
    await first.journal.release("s", 1);
    await first.journal.end("s", 1, "late");
    await second.journal.commit("s", 2, changes({ more: "2" }));
    const again = await second.journal.takeOver("s");
    expect(again).toMatchObject({ epoch: 3, ended: null });
    expect([...(again?.cells.keys() ?? [])].sort()).toEqual(["image", "more"]);
    expect(text(again?.cells.get("image"))).toBe("1");
  });

  test("one of many takes a session over", async () => {
    const [first, ...others] = await Promise.all(Array.from({ length: 5 }, start));
    await first?.journal.create("s", HASH);
    await first?.kill();
    const tries = await Promise.allSettled(others.map(async ({ journal }) => journal.takeOver("s")));
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const refused = tries.filter((one) => one.status === "rejected");
    expect(refused.map(({ reason }) => (reason as { code: string }).code)).toEqual(Array(3).fill("SESSION_ELSEWHERE"));
  });

  test("an ended session is not taken over, and is forgotten later", async () => {
    const [first, second] = [await start(), await start()];
    const before = Date.now();
    for (const id of ["s", "t"]) await first.journal.create(id, HASH);
    await first.journal.commit("s", 1, changes({ image: "1" }));
    await first.journal.end("s", 1, "closed by the client");
    await expect((async () => first.journal.commit("s", 1, changes({ image: "2" })))()).rejects.toMatchObject({
      code: "EPOCH_LOST",
    });
    expect(await second.journal.takeOver("s")).toBeUndefined();
    const ended = (await second.journal.find("s"))?.ended;
    expect(ended).toMatchObject({ reason: "closed by the client" });
    expect(ended?.at).toBeGreaterThanOrEqual(before);
    const listed = await second.journal.list();
    await second.journal.removeEnded(listed, before);
    expect((await second.journal.list()).map(({ id }) => id).sort()).toEqual(["s", "t"]);
    await second.journal.removeEnded(listed, Date.now() + 1);
    expect((await second.journal.list()).map(({ id }) => id)).toEqual(["t"]);
    expect(await second.journal.find("s")).toBeUndefined();
  });

  test("an id is used again after its session has ended, and an old owner does not write to the next one", async () => {
    const [first, second] = [await start(), await start()];
    expect(await first.journal.create("s", HASH)).toBe(1);
    await expect((async () => second.journal.create("s", HASH))()).rejects.toMatchObject({ code: "SESSION_ELSEWHERE" });
    await first.journal.commit("s", 1, changes({ image: "1" }));
    await first.journal.end("s", 1, "");
    expect(await second.journal.create("s", HASH)).toBe(2);
    const late = (async () => first.journal.commit("s", 1, changes({ image: "late" })))();
    await expect(late).rejects.toMatchObject({ code: "EPOCH_LOST" });
    expect(await second.journal.takeOver("s")).toMatchObject({ epoch: 3, ended: null, cells: new Map() });
  });

  test("an id that is used again since it was listed is not forgotten", async () => {
    const { journal } = await start();
    await journal.create("s", HASH);
    await journal.end("s", 1, "");
    const listed = await journal.list();
    await journal.create("s", HASH);
    await journal.removeEnded(listed, Date.now() + 1);
    expect(await journal.find("s")).toMatchObject({ epoch: 2, ended: null });
  });

  test("an unknown id is no session", async () => {
    const { journal } = await start();
    for (const id of ["unknown", "", "x".repeat(10_000), "#epoch"]) {
      expect(await journal.find(id)).toBeUndefined();
      expect(await journal.read(id)).toBeUndefined();
      expect(await journal.takeOver(id)).toBeUndefined();
      await expect((async () => journal.commit(id, 1, changes({ a: "b" })))()).rejects.toMatchObject({
        code: "EPOCH_LOST",
      });
    }
  });
}
