import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { loadBinary } from "../../protocol/codec/binary.js";
import { silentLog } from "../../util/log.js";
import { type Journal, unavailable } from "../journals/journal.js";
import { MemoryStore, openMemoryJournal } from "../journals/memory.js";
import { Sessions } from "../registry/sessions.js";
import { createRuntime } from "../runtime.js";
import { JournalledSessions } from "./journalled-sessions.js";

const TOKEN_HASH = createHash("sha256").update("token").digest("hex");
const codec = await loadBinary();
let store = new MemoryStore();
let isAway = false;
let lists = 0;
let logged: unknown[] = [];
beforeEach(() => {
  store = new MemoryStore();
  isAway = false;
  lists = 0;
  logged = [];
});

/** The sessions of a server whose journal can be away. */
function start(): { sessions: Sessions; own: JournalledSessions } {
  const journal = openMemoryJournal("here", store);
  const reach = <Rest extends unknown[], Result>(method: (...rest: Rest) => Result) => {
    return (...rest: Rest): Result => {
      if (isAway) throw unavailable("redis://secret-host", "connection refused");
      return method(...rest);
    };
  };
  const fragile: Journal = {
    ...journal,
    create: reach(journal.create),
    release: reach(journal.release),
    end: reach(journal.end),
    list: async () => {
      lists++;
      return journal.list();
    },
  };
  const runtime = createRuntime(defineCounter().environment);
  const sessions = new Sessions(runtime, { maxConcurrentEnvs: 2, sessionTimeoutMs: null });
  const log = { ...silentLog, warn: (fields: object) => void logged.push(fields) };
  const options = { journal: fragile, codec, owner: "here", workers: 1, retentionMs: 60_000, log };
  const own = new JournalledSessions(sessions, options);
  sessions.journal = own;
  return { sessions, own };
}

async function open({ sessions, own }: ReturnType<typeof start>) {
  const session = await sessions.open();
  const resumption = sessions.resumptions.add(session, TOKEN_HASH, undefined);
  await own.add(resumption);
  return { session, resumption };
}

describe("a session whose end the journal has not seen", () => {
  test.each(["end", "release"] as const)(
    "is left to other processes after a failed %s, and ends in time",
    async (how) => {
      const server = start();
      const { session, resumption } = await open(server);
      isAway = true;
      if (how === "end") server.sessions.end(session, "closed by the client");
      else server.sessions.giveUp(resumption, "continues on another server");
      isAway = false;
      expect(store.sessions.get(session.id)).toMatchObject({ owner: "here", ended: null });
      await server.own.tidy(Number.POSITIVE_INFINITY);
      expect(store.sessions.get(session.id)).toMatchObject({ owner: null, ended: null });
      await server.own.tidy(0);
      expect(store.sessions.get(session.id)?.ended).toMatchObject({ reason: "was not resumed in time" });
    },
  );

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

test("a client is not told where the journal is; the log is", async () => {
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
