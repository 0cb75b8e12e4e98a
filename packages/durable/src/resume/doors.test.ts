/** Each transport executes a request once. Defects that are put into the ledger show that these tests would find them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment, defineTools } from "#core/index.js";
import type { RunningServer } from "#core/server/types.js";
import { copyFileJournal } from "../../../../test-support/journals/file-journal.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { DOORS, type DoorClient, type Naming } from "../../../../test-support/sessions/doors.js";
import { FirstRequest } from "../session/first-request.js";
import { ANSWER, IMAGE, RUNNING } from "../session/journal-cells.js";
import { JournalWriter } from "../session/journal-writer.js";
import { StoredAnswers } from "../session/stored-answers.js";

const servers = useServers();
const folder = await mkdtemp(join(tmpdir(), "openenv-doors-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
afterEach(() => {
  vi.restoreAllMocks();
  open();
});
let journal = "";
let files = 0;
/** The amounts that were added. */
let ran: number[] = [];
/** Called when an amount is added. */
let onRun = (): void => {};
/** Steps of 50 wait until it is called. */
let open = (): void => {};
let gate = Promise.resolve();
beforeEach(() => {
  journal = join(folder, `${++files}.db`);
  ran = [];
  onRun = () => {};
  gate = new Promise((resolve) => (open = resolve));
});

const contract = defineContract({
  name: "tally_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
  tools: defineTools({ add: { description: "Adds.", input: z.object({ amount: z.int() }), output: z.int() } }),
});
const environment = defineEnvironment(contract, () => {
  let count = 0;
  const add = async (amount: number): Promise<number> => {
    ran.push(amount);
    onRun();
    if (amount === 50) await gate;
    return (count += amount);
  };
  return {
    reset: () => ({ observation: { count: (count = 0) } }),
    step: async ({ amount }) => ({ observation: { count: await add(amount) } }),
    tools: { add: ({ amount }) => add(amount) },
    snapshot: () => count,
    restore: (saved) => void (count = saved as number),
  };
});

const start = (): Promise<RunningServer> => servers.start({ journal }, { environment });

/** A server that has what is in the journal now, as if the one before had been killed. */
async function kill(): Promise<RunningServer> {
  const before = journal;
  journal = join(folder, `${++files}.db`);
  await copyFileJournal(before, journal);
  return await start();
}

/** Makes a step during which its server is killed. */
async function killIn(client: DoorClient, server: RunningServer, nth: number): Promise<RunningServer> {
  const runs = ran.length + 1;
  client.step(server, nth, 50).catch(() => {});
  await expect.poll(() => ran, { timeout: 5_000 }).toHaveLength(runs);
  return await kill();
}

interface Scenario {
  /** The clients that can do this. */
  of: readonly Naming[];
  play(client: DoorClient, server: RunningServer): Promise<void>;
}

const SCENARIOS = {
  "a repeated request gets the answer of the first, and is not executed again": {
    of: ["number", "id"],
    async play(client, server) {
      for (const [nth, count] of [4, 8].entries()) {
        expect(await client.step(server, nth + 1, 4)).toBe(count);
        expect(await client.step(server, nth + 1, 4)).toBe(count);
      }
      expect(ran).toEqual([4, 4]);
    },
  },
  "a request that is repeated while it runs is not executed again": {
    of: ["number", "id"],
    async play(client, server) {
      client.step(server, 1, 50).catch(() => {});
      await expect.poll(() => ran, { timeout: 5_000 }).toEqual([50]);
      const admitted = [vi.spyOn(StoredAnswers.prototype, "admit"), vi.spyOn(StoredAnswers.prototype, "admitNamed")];
      const repeated = client.step(server, 1, 50);
      const count = (): number => admitted.reduce((sum, { mock }) => sum + mock.calls.length, 0);
      await expect.poll(count, { timeout: 5_000 }).toBe(1);
      open();
      expect(await repeated).toBe(50);
      expect(ran).toEqual([50]);
    },
  },
  "another request with the same name is refused": {
    of: ["number", "id"],
    async play(client, server) {
      expect(await client.step(server, 1, 4)).toBe(4);
      expect(await client.step(server, 1, 5)).toBe("SEQUENCE_CONFLICT");
      expect(await client.step(server, 2, 5)).toBe(9);
      expect(ran).toEqual([4, 5]);
    },
  },
  "a request after a gap is refused": {
    of: ["number"],
    async play(client, server) {
      expect(await client.step(server, 2, 4)).toBe("SEQUENCE_GAP");
      expect(await client.step(server, 1, 4)).toBe(4);
      expect(ran).toEqual([4]);
    },
  },
  "after a kill a repeated request gets the stored answer": {
    of: ["number", "id"],
    async play(client, server) {
      expect(await client.step(server, 1, 4)).toBe(4);
      const next = await kill();
      expect(await client.step(next, 1, 4)).toBe(4);
      expect(ran).toEqual([4]);
    },
  },
  "after a kill the next request finds the state of the last answer": {
    of: ["number", "id", "none"],
    async play(client, server) {
      expect(await client.step(server, 1, 4)).toBe(4);
      expect(await client.step(server, 2, 5)).toBe(9);
      expect(await client.step(await kill(), 3, 6)).toBe(15);
      expect(ran).toEqual([4, 5, 6]);
    },
  },
  "a request that ends its process twice is not executed a third time": {
    of: ["number", "id", "none"],
    async play(client, server) {
      expect(await client.step(server, 1, 4)).toBe(4);
      const third = await killIn(client, await killIn(client, server, 2), 2);
      const executed = new Promise((resolve) => (onRun = () => resolve("executed")));
      expect(await Promise.race([client.step(third, 2, 50), executed])).toBe("STEP_CRASHED");
      expect(await client.step(third, 3, 5)).toBe(9);
      expect(ran).toEqual([4, 50, 50, 5]);
    },
  },
  "a request that has ended is executed when it comes again in another process": {
    of: ["none"],
    async play(client) {
      expect(await client.step(await kill(), 1, 4)).toBe(4);
      expect(await client.step(await kill(), 2, 4)).toBe(8);
      expect(ran).toEqual([4, 4]);
    },
  },
} satisfies Record<string, Scenario>;

/** Replaces a method by one that gets the original. */
function seed<T extends object, K extends keyof T>(owner: T, method: K, change: (original: T[K]) => T[K]): void {
  const original = owner[method];
  const methods = owner as unknown as Record<string, () => unknown>;
  vi.spyOn(methods, String(method)).mockImplementation(change(original) as () => unknown);
}

const answers = StoredAnswers.prototype;
const writer = JournalWriter.prototype;

/** Replaces the writing of the cells with this letter or name. */
function seedCells(letter: string, write: (put: () => void) => void): void {
  seed(
    writer,
    "put",
    (put) =>
      function (this: JournalWriter, name, value) {
        const [cell = ""] = name.split(".").slice(-1);
        const isMeant = letter === ANSWER ? /^a\d+$/.test(cell) : cell === letter;
        if (isMeant) write(() => put.call(this, name, value));
        else put.call(this, name, value);
      },
  );
}

interface Defect {
  of: readonly Naming[];
  install(): void;
  /** Where it is found. */
  found: keyof typeof SCENARIOS;
}

const DEFECTS: Record<string, Defect> = {
  "the acknowledgement is one too high": {
    of: ["number"],
    install: () =>
      seed(
        answers,
        "acknowledge",
        (acknowledge) =>
          function (this: StoredAnswers, ack) {
            acknowledge.call(this, ack + 1);
          },
      ),
    found: "a repeated request gets the answer of the first, and is not executed again",
  },
  "an answer is freed by the request that repeats it": {
    of: ["id"],
    install: () =>
      seed(
        answers,
        "admitNamed",
        (admit) =>
          function (this: StoredAnswers, id, request) {
            this.freeComplete();
            return admit.call(this, id, request);
          },
      ),
    found: "a repeated request gets the answer of the first, and is not executed again",
  },
  "an answer is not kept": {
    of: ["number", "id"],
    install: () => seed(answers, "store", () => () => {}),
    found: "a repeated request gets the answer of the first, and is not executed again",
  },
  "an answer is kept only when it is complete": {
    of: ["number", "id"],
    install: () =>
      seed(
        answers,
        "store",
        (store) =>
          function (this: StoredAnswers, key, answer) {
            void Promise.resolve(answer).then((late) => store.call(this, key, late as string));
          },
      ),
    found: "a request that is repeated while it runs is not executed again",
  },
  "requests with the same name are not compared": {
    of: ["number", "id"],
    install() {
      seed(
        answers,
        "admit",
        (admit) =>
          function (this: StoredAnswers, seq, request) {
            return admit.call(this, seq, request, () => true);
          },
      );
      seed(
        answers,
        "admitNamed",
        (admit) =>
          function (this: StoredAnswers, id, request) {
            return admit.call(this, id, String(this.find(id)?.request ?? request));
          },
      );
    },
    found: "another request with the same name is refused",
  },
  "a number may be left out": {
    of: ["number"],
    install: () =>
      seed(
        answers,
        "admit",
        (admit) =>
          function (this: StoredAnswers, seq, request, isSame) {
            return admit.call(this, Math.min(seq, this.last + 1), request, isSame);
          },
      ),
    found: "a request after a gap is refused",
  },
  "restored answers are forgotten": {
    of: ["number", "id"],
    install: () => seed(answers, "restore", () => () => {}),
    found: "after a kill a repeated request gets the stored answer",
  },
  "the journal has no answers": {
    of: ["number", "id"],
    install: () => seedCells(ANSWER, () => {}),
    found: "after a kill a repeated request gets the stored answer",
  },
  "the answer is stored before its state": {
    of: ["number", "id", "none"],
    install() {
      let before = (): void => {};
      seedCells(IMAGE, (put) => {
        before();
        before = put;
      });
    },
    found: "after a kill the next request finds the state of the last answer",
  },
  "the answer leaves before it is stored": {
    of: ["number", "id", "none"],
    install: () =>
      seed(
        writer,
        "commit",
        (commit) =>
          function (this: JournalWriter) {
            setTimeout(() => void (async () => commit.call(this))().catch(() => {}), 2_000).unref();
          },
      ),
    found: "after a kill the next request finds the state of the last answer",
  },
  "the mark of a request is lost": {
    of: ["number", "id", "none"],
    install: () => seedCells(RUNNING, () => {}),
    found: "a request that ends its process twice is not executed a third time",
  },
  "the mark of a request is not read": {
    of: ["number", "id", "none"],
    install: () => seed(FirstRequest.prototype, "enter", () => () => false),
    found: "a request that ends its process twice is not executed a third time",
  },
  "the mark of a request stays after its answer": {
    of: ["none"],
    install: () =>
      seed(
        writer,
        "remove",
        (remove) =>
          function (this: JournalWriter, name) {
            if (name !== RUNNING) remove.call(this, name);
          },
      ),
    found: "a request that has ended is executed when it comes again in another process",
  },
};

describe.each(Object.entries(DOORS))("%s", (_name, door) => {
  const known = Object.entries<Scenario>(SCENARIOS).filter(([, { of }]) => of.includes(door.naming));
  test.each(known)("%s", async (_what, { play }) => {
    await using client = door.open();
    const server = await start();
    await client.begin(server);
    await play(client, server);
  });

  const defects = Object.entries(DEFECTS).filter(([, { of }]) => of.includes(door.naming));
  test.each(defects)("shows the defect: %s", async (_what, { install, found }) => {
    install();
    await using client = door.open();
    const server = await start();
    await client.begin(server);
    await expect(SCENARIOS[found].play(client, server)).rejects.toThrow();
  });
});
