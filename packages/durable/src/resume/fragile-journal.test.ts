import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { Cancels } from "#core/session/calls/cancels.js";
import type { AddressHolder } from "#core/session/registry/session-keeper.js";
import type { Session } from "#core/session/session.js";
import { createStored } from "../../test/create-stored.js";
import { type Journal, unavailable } from "../journals/journal.js";
import { MemoryStore, openMemoryJournal } from "../journals/memory.js";
import type { DurableSession } from "../session/durable-session.js";

const TOKEN_HASH = createHash("sha256").update("token").digest("hex");
let store = new MemoryStore();
let isAway = false;
let lists = 0;
let logged: unknown[] = [];
/** What a session waits for while it is stored for the first time. */
let gate: Promise<void> | undefined;
/** What a list of the sessions waits for. */
let listing: Promise<void> | undefined;
beforeEach(() => {
  store = new MemoryStore();
  isAway = false;
  lists = 0;
  logged = [];
  gate = listing = undefined;
});

/** The sessions of a server whose journal can be away or slow. */
function start(options?: Parameters<typeof createStored>[2]) {
  const journal = openMemoryJournal("here", store);
  const reach = <Rest extends unknown[], Result>(method: (...rest: Rest) => Result) => {
    return (...rest: Rest): Result => {
      if (isAway) throw unavailable("redis://secret-host", "connection refused");
      return method(...rest);
    };
  };
  const fragile: Journal = {
    ...journal,
    create: async (...session) => {
      await gate;
      return reach(journal.create)(...session);
    },
    commit: reach(journal.commit),
    release: reach(journal.release),
    end: reach(journal.end),
    list: async () => {
      lists++;
      await listing;
      return journal.list();
    },
  };
  return createStored(fragile, logged, options);
}

async function open({ sessions, keeper, own }: Pick<ReturnType<typeof start>, "sessions" | "keeper" | "own">) {
  const session = await sessions.open();
  const durableSession = keeper.add(session, TOKEN_HASH, undefined);
  await own.add(durableSession);
  return { session, durableSession };
}

describe("a session whose end the journal has not seen", () => {
  test.each(["end", "release"] as const)(
    "is left to other processes after a failed %s, and ends in time",
    async (how) => {
      const server = start();
      const { session, durableSession } = await open(server);
      isAway = true;
      if (how === "end") server.sessions.end(session, "closed by the client");
      else server.keeper.giveUp(durableSession, "continues on another server");
      isAway = false;
      expect(store.sessions.get(session.id)).toMatchObject({ owner: "here", ended: null });
      await server.own.tidy(Number.POSITIVE_INFINITY);
      expect(store.sessions.get(session.id)).toMatchObject({ owner: null, ended: null });
      await server.own.tidy(0);
      expect(store.sessions.get(session.id)?.ended).toMatchObject({ reason: "was not resumed in time" });
    },
  );

  test("is left to other processes when it was taken over after the takeover had failed", async () => {
    const [before, server] = [start(), start()];
    const { session } = await open(before);
    before.keeper.giveUp(before.keeper.find(session.id) as DurableSession, "is left");
    const { takeOver } = server.journal;
    server.journal.takeOver = () => {
      throw unavailable("redis://secret-host", "no answer");
    };
    const opener = { client: "websocket", orchestrator: false } as const;
    await expect(server.own.takeOver(session.id, "token", opener)).rejects.toMatchObject({
      data: { code: "JOURNAL_UNAVAILABLE" },
    });
    await server.own.tidy(Number.POSITIVE_INFINITY);
    await takeOver(session.id);
    expect(store.sessions.get(session.id)?.owner).toBe("here");
    await server.own.tidy(Number.POSITIVE_INFINITY);
    expect(store.sessions.get(session.id)?.owner).toBe(null);
  });

  test("is not one that is open, nor one of another server in the same process", async () => {
    const [server, other] = [start(), start()];
    const { session } = await open(server);
    await server.own.tidy(0);
    await other.own.tidy(0);
    expect(store.sessions.get(session.id)).toMatchObject({ owner: "here", epoch: 1, ended: null });
  });
});

test("the sessions of a journal are listed once in a run, and no run begins before the one before has ended", async () => {
  const { own } = start();
  await Promise.all([own.tidy(0), own.tidy(0)]);
  expect(lists).toBe(1);
  await own.tidy(0);
  expect(lists).toBe(2);
});

test("a client does not learn where the journal is; the log says it", async () => {
  const server = start();
  isAway = true;
  const refused = await open(server).then(
    () => undefined,
    (error: unknown) => (error as { data: unknown }).data,
  );
  expect(refused).toMatchObject({ code: "JOURNAL_UNAVAILABLE" });
  expect(JSON.stringify(refused)).not.toContain("secret-host");
  expect(logged).toMatchObject([{ err: { message: expect.stringContaining("secret-host") } }]);
});

test("a session that another process has taken over meanwhile is given up before its client comes back", async () => {
  const server = start();
  const { session } = await open(server);
  // The process was suspended for longer than its lease.
  store.owners.delete("here");
  await openMemoryJournal("there", store).takeOver(session.id);
  await server.own.tidy(Number.POSITIVE_INFINITY);
  expect(session.ended).toBe(true);
  expect(server.sessions.capacity().active_sessions).toBe(0);
  expect(store.sessions.get(session.id)).toMatchObject({ owner: "there", epoch: 2, ended: null });
});

test("a session is not left to a server that wants it while its last commit is repeated", async () => {
  const { journal, ...server } = start();
  const { session, durableSession } = await open(server);
  isAway = true;
  const stored = durableSession.journal?.store({ seq: 1, request: "request", answer: "answer" }, 0);
  journal.onWanted?.(session.id);
  isAway = false;
  await stored;
  expect(store.sessions.get(session.id)).toMatchObject({ owner: "here" });
  expect(store.sessions.get(session.id)?.cells.has("a1")).toBe(true);
  journal.onWanted?.(session.id);
  expect(session.ended).toBe(true);
  await expect.poll(() => store.sessions.get(session.id)?.owner).toBe(null);
});

test("a session is not left to a server that wants it while the code of a cancelled step runs", async () => {
  const { journal, ...server } = start({ seeded: true });
  const { session, durableSession } = await open(server);
  await session.call({ type: "reset" });
  const cancels = new Cancels();
  cancels.begin();
  const step = session.call({ type: "step", data: { amount: 50 } }, { onCancel: cancels.add });
  cancels.cancel(undefined);
  expect(await step).toMatchObject({ type: "error", data: { code: "CANCELLED" } });
  journal.onWanted?.(session.id);
  expect(durableSession.isRestorable).toBe(true);
  expect(session.ended).toBe(false);
  // It waits for the code. A replay cannot continue after it.
  await session.call({ type: "state" });
  expect(durableSession.isRestorable).toBe(false);
});

describe("while a request of the client is not answered", () => {
  const step = { type: "step", data: { amount: 1 } } as const;
  const count = (id: string): unknown => {
    const cell = store.sessions.get(id)?.cells.get("image");
    return cell && (JSON.parse(Buffer.from(cell).toString()) as { stepCount: number }).stepCount;
  };

  test("the answer to an agent leaves when its step is stored", async () => {
    const { session, durableSession } = await open(start({ seeded: true }));
    await session.call({ type: "reset" });
    durableSession.journal?.begin(1);
    // It waits for that of the agent.
    await session.call(step);
    expect(count(session.id)).toBe(1);
  });

  test("a step is not stored without its answer, although an agent's step is behind it", async () => {
    const { session, durableSession } = await open(start({ seeded: true }));
    await session.call({ type: "reset" });
    durableSession.journal?.begin(1);
    await session.call(step, { numbered: true });
    let hasLeft = false;
    const behind = Promise.resolve(session.call(step)).then(() => (hasLeft = true));
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    expect([hasLeft, count(session.id)]).toEqual([false, 0]);
    await durableSession.journal?.store({ seq: 1, request: "request", answer: "answer" }, 0);
    await behind;
    expect(count(session.id)).toBe(2);
    expect(store.sessions.get(session.id)?.cells.has("a1")).toBe(true);
  });
});

describe("a session by address", () => {
  const opener = { client: "http", orchestrator: false } as const;
  const use = "call";
  /** A socket that has not closed, or that answers no ping any more. */
  function connect(isAlive: boolean) {
    const seen = { fenced: 0, taken: 0 };
    const holder: AddressHolder = {
      drop: () => undefined,
      fence: () => void seen.fenced++,
      moved() {},
      isAlive: async () => isAlive,
      take: () => void seen.taken++,
    };
    return { holder, seen };
  }

  test("is not left to other processes when it was opened again while the sessions were listed", async () => {
    const { sessions, own, addresses } = start();
    const first = await addresses.attach(TOKEN_HASH, { use, opener });
    sessions.release(first?.target as Session, "closed by the client");
    let go = (): void => {};
    listing = new Promise((resolve) => (go = resolve));
    const tidied = own.tidy(Number.POSITIVE_INFINITY);
    await addresses.attach(TOKEN_HASH, { use, opener });
    go();
    await tidied;
    expect(store.sessions.get(TOKEN_HASH)).toMatchObject({ owner: "here", epoch: 2, ended: null });
  });

  test.each(["left", "is half-open"])("is stored before the next client uses it, if the first one %s", async (how) => {
    const { sessions, keeper, addresses } = start();
    let go = (): void => {};
    gate = new Promise((resolve) => (go = resolve));
    const [first, second] = [connect(false), connect(true)];
    const refused = addresses.attach(TOKEN_HASH, { use, opener, holder: first.holder }).catch((error: Error) => error);
    await expect.poll(() => keeper.find(TOKEN_HASH)).toBeDefined();
    if (how === "left") addresses.leave(TOKEN_HASH, first.holder);
    const attached = addresses.attach(TOKEN_HASH, { use, opener, holder: second.holder });
    const http = addresses.attach(TOKEN_HASH, { use, opener });
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    expect(second.seen.taken).toBe(0);
    go();
    expect(await refused).toMatchObject({ data: { code: "SESSION_ERROR" } });
    const durableSession = await attached;
    expect(await http).toBe(durableSession);
    expect(durableSession).toMatchObject({ holder: second.holder, journal: { epoch: 1 } });
    expect([first.seen.taken, second.seen.taken]).toEqual([0, 1]);
    expect(sessions.capacity().active_sessions).toBe(1);
  });

  test("is not in two sockets after it was opened while the first one was pinged", async () => {
    const { addresses } = start();
    let go = (): void => {};
    gate = new Promise((resolve) => (go = resolve));
    const [first, second] = [connect(false), connect(true)];
    const opened = addresses.attach(TOKEN_HASH, { use, opener, holder: first.holder });
    first.holder.isAlive = async () => {
      go();
      await opened.catch(() => {});
      return false;
    };
    await expect.poll(() => addresses.has(TOKEN_HASH)).toBe(true);
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    const durableSession = await addresses.attach(TOKEN_HASH, { use, opener, holder: second.holder });
    expect(durableSession?.holder).toBe(second.holder);
    expect([first.seen, second.seen]).toEqual([
      { fenced: 1, taken: 1 },
      { fenced: 0, taken: 1 },
    ]);
  });

  test("that is ended while it is stored is not used, and the journal knows its end", async () => {
    const { sessions, keeper, addresses } = start();
    let go = (): void => {};
    gate = new Promise((resolve) => (go = resolve));
    const { holder, seen } = connect(true);
    const refused = addresses.attach(TOKEN_HASH, { use, opener, holder }).catch((error: Error) => error);
    await expect.poll(() => keeper.find(TOKEN_HASH)).toBeDefined();
    sessions.end(keeper.find(TOKEN_HASH)?.target as Session, "ended by an operator");
    go();
    expect(await refused).toMatchObject({ data: { code: "SESSION_ERROR" } });
    expect(seen.taken).toBe(0);
    expect(store.sessions.get(TOKEN_HASH)?.ended).not.toBeNull();
  });

  test("closes the socket that was half-open while it waited for its turn", async () => {
    const { sessions, addresses } = start();
    const occupants = [await sessions.open(), await sessions.open()];
    const [first, second] = [connect(false), connect(true)];
    void addresses.attach(TOKEN_HASH, { use, opener, holder: first.holder }).catch(() => {});
    await expect.poll(() => sessions.load().waiting).toBe(1);
    const attached = addresses.attach(TOKEN_HASH, { use, opener, holder: second.holder });
    await expect.poll(() => first.seen.fenced).toBe(1);
    for (const session of occupants) sessions.end(session, "closed by its client");
    expect((await attached)?.holder).toBe(second.holder);
    expect(first.seen.taken).toBe(0);
  });

  test("does not tell its client where the journal is when it ends while its answer is held", async () => {
    const { sessions, addresses } = start();
    const session = (await addresses.attach(TOKEN_HASH, { use, opener }))?.target as Session;
    isAway = true;
    const held = session.call({ type: "reset" });
    sessions.end(session, "ended by an operator");
    const answer = await held;
    expect(answer).toMatchObject({ type: "error", data: { code: "SESSION_ERROR" } });
    expect(JSON.stringify(answer)).not.toContain("secret-host");
  });
});
