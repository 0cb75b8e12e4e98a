import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createStored } from "../../test/create-stored.js";
import { MemoryStore, openMemoryJournal } from "../journals/memory.js";
import type { DurableSession } from "../session/durable-session.js";

describe("after a process has ended while it restored sessions", () => {
  const opener = { client: "websocket", orchestrator: false } as const;
  /** Two sessions whose replay takes 50 ms, and which processes have begun to restore this many times. */
  async function leave(begun: string) {
    const store = new MemoryStore();
    const logged: unknown[] = [];
    const start = () => createStored(openMemoryJournal("here", store), logged, { seeded: true });
    const { sessions, keeper, own } = start();
    const ids = await Promise.all(
      ["first", "second"].map(async (name) => {
        const session = await sessions.open();
        const tokenHash = createHash("sha256").update(name).digest("hex");
        await own.add(keeper.add(session, tokenHash, undefined));
        await session.call({ type: "reset" });
        await session.call({ type: "step", data: { amount: 50 } });
        store.sessions.get(session.id)?.cells.set("restoring", Buffer.from(begun));
        return session.id;
      }),
    );
    const { own: next, journal, sessions: taken, keeper: keeperOfNext } = start();
    /** The counts after each commit, and the slots that are reserved for those that wait. */
    const counts: unknown[] = [];
    const { commit } = journal;
    journal.commit = (...changes) => {
      commit(...changes);
      counts.push([...ids.map((id) => store.sessions.get(id)?.cells.get("restoring")?.toString()), next.reserved]);
    };
    const takeOver = (nth: number) => next.takeOver(ids[nth] as string, ["first", "second"][nth] as string, opener);
    return {
      counts,
      takeOver,
      find: (nth: number) => keeperOfNext.find(ids[nth] as string) as DurableSession,
      logged,
      sessions: taken,
      own: next,
      owners: () => ids.map((id) => store.sessions.get(id)?.owner),
    };
  }

  test("only one of them is restored at a time, so that the next end is counted for one of them", async () => {
    const { counts, takeOver } = await leave("1");
    expect(await Promise.all([takeOver(0), takeOver(1)])).toEqual([undefined, undefined]);
    expect(counts).toEqual([
      ["2", "1", 1],
      [undefined, "1", expect.any(Number)],
      [undefined, "2", 0],
      [undefined, undefined, 0],
    ]);
  });

  test("none of them is restored while another session runs its first request", async () => {
    const { counts, takeOver, find, own } = await leave("1");
    await takeOver(0);
    const first = find(0).answerOnce({ seq: 1, ack: 0, request: "", isRepeat: () => true }, async () => {
      await expect.poll(() => own.reserved).toBe(1);
      counts.push("answered");
      return "";
    });
    const second = takeOver(1);
    await Promise.all([first, second]);
    expect(counts.slice(counts.indexOf("answered") + 1)).toEqual([
      [undefined, "1", 1],
      [undefined, "2", 0],
      [undefined, undefined, 0],
    ]);
  });

  test("no session runs its first request while one of them is restored", async () => {
    const { counts, takeOver, find } = await leave("1");
    await takeOver(0);
    const second = takeOver(1);
    await expect.poll(() => counts.at(-1)).toEqual([undefined, "2", 0]);
    let restored = "";
    const run = async (): Promise<string> => (restored = JSON.stringify(counts.at(-2)));
    await find(0).answerOnce({ seq: 1, ack: 0, request: "", isRepeat: () => true }, run);
    expect(restored).toBe("[null,null,0]");
    await second;
  });

  test("a refusal before the restore does not change the count", async () => {
    const { counts, takeOver, sessions } = await leave("1");
    sessions.pause(true);
    await expect(takeOver(0)).rejects.toMatchObject({ data: { code: "CAPACITY_REACHED" } });
    expect(counts).toEqual([
      ["2", "1", 0],
      ["1", "1", 0],
    ]);
    sessions.pause(false);
    expect(await takeOver(0)).toBe(undefined);
  });

  test("a restore that an orderly end interrupts does not count, and leaves the session to the next process", async () => {
    const { counts, takeOver, own, owners } = await leave("0");
    const restoring = takeOver(0);
    await expect.poll(() => counts).toEqual([["1", "0", expect.any(Number)]]);
    own.releaseAll();
    await expect.poll(owners).toEqual([null, "here"]);
    expect(counts[1]).toEqual(["0", "0", expect.any(Number)]);
    await restoring;
  });

  test("a session is lost after five of them", async () => {
    const { takeOver, logged } = await leave("5");
    expect(await takeOver(0)).toBe("5 processes have ended while they restored it");
    expect(logged).toHaveLength(1);
  });
});
