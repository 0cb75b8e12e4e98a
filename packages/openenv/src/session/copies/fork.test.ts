import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment } from "../../index.js";
import type { BatchReply } from "../../protocol/batch.js";
import { Batch } from "../batch.js";
import { Sessions } from "../registry/sessions.js";
import { RESTORE_DEFAULTS } from "../restore-limits.js";
import { createRuntime } from "../runtime.js";
import type { Session } from "../session.js";
import { forkSession } from "./fork.js";

/** Longer than a turn of the event loop: no two of them fit into one. */
const LONG_MS = 11;
const EVENTS = 10;
const COPIES = 10;

const contract = defineContract({
  name: "long_env",
  action: z.object({}),
  observation: z.object({ steps: z.int() }),
});

let ticking: NodeJS.Immediate | undefined;
afterEach(() => clearImmediate(ticking));

/** Sessions of an environment that notes which copy works in which turn of the event loop. */
async function start({ replays, replayMs }: { replays: boolean; replayMs?: number }) {
  let turn = 0;
  const tick = (): void => {
    turn++;
    ticking = setImmediate(tick);
  };
  tick();
  const notes: { copy: number; turn: number }[] = [];
  let made = 0;
  const environment = defineEnvironment(
    contract,
    () => {
      const copy = made++;
      let steps = 0;
      const work = (): void => {
        const end = performance.now() + LONG_MS;
        while (performance.now() < end);
        notes.push({ copy, turn });
      };
      return {
        reset: () => ({ observation: { steps: (steps = 0) } }),
        step: () => {
          work();
          return { observation: { steps: ++steps } };
        },
        ...(!replays && {
          snapshot: () => steps,
          restore: (saved: unknown) => {
            work();
            steps = saved as number;
          },
        }),
      };
    },
    { seeded: true },
  );
  const restore = { ...RESTORE_DEFAULTS, ...(replayMs !== undefined && { replayMs }) };
  const runtime = createRuntime(environment, { restore });
  const sessions = new Sessions(runtime, { maxConcurrentEnvs: 100, sessionTimeoutMs: null });
  const play = async (session: Session): Promise<void> => {
    session.events.keepIfNeeded();
    await session.call({ type: "reset" });
    for (let step = 0; step < EVENTS; step++) await session.call({ type: "step", data: {} });
  };
  return { sessions, play, notes };
}

async function openPlayed({ sessions, play }: Awaited<ReturnType<typeof start>>): Promise<Session> {
  const session = await sessions.open();
  await play(session);
  return session;
}

test("each copy by snapshot has a separate turn of the event loop", async () => {
  const started = await start({ replays: false });
  const { sessions, notes } = started;
  const session = await openPlayed(started);
  notes.length = 0;
  const { forks } = await forkSession(sessions, session, { count: COPIES });
  expect(forks.map(({ stepCount }) => stepCount)).toEqual(Array(COPIES).fill(EVENTS));
  expect(new Set(notes.map(({ turn }) => turn)).size).toBe(COPIES);
});

test("the copies of all items of fork_many take turns", async () => {
  const started = await start({ replays: false });
  const { sessions, play, notes } = started;
  const batch = new Batch(sessions);
  for (let nth = 0; nth < 4; nth++) await batch.open();
  const opened = [...batch.sessions];
  for (const session of opened) await play(session);
  notes.length = 0;
  const replies = await Promise.all(opened.map((session) => batch.fork(session, { count: 3 })));
  const copies = (reply: BatchReply): unknown[] => (reply.type === "forked" ? reply.data.sessions : []);
  expect(replies.flatMap(copies)).toHaveLength(12);
  expect(new Set(notes.map(({ turn }) => turn)).size).toBe(12);
});

test("the replays of one fork begin one after the other, and let others run after each long event", async () => {
  const started = await start({ replays: true });
  const { sessions, notes } = started;
  const session = await openPlayed(started);
  notes.length = 0;
  await forkSession(sessions, session, { count: 4 });
  expect(notes.map(({ copy }) => copy)).toEqual([1, 2, 3, 4].flatMap((copy) => Array(EVENTS).fill(copy)));
  expect(new Set(notes.map(({ turn }) => turn)).size).toBe(4 * EVENTS);
});

test("the time limit of a replay does not count the turns of others", async () => {
  // All of them together take several times the limit.
  const replayMs = 10 * EVENTS * LONG_MS;
  const started = await start({ replays: true, replayMs });
  const { sessions } = started;
  const session = await openPlayed(started);
  const forks = Array.from({ length: 30 }, () => forkSession(sessions, session, { count: 1 }));
  expect(await Promise.all(forks)).toHaveLength(30);
});

test("a replay that takes longer than its time limit fails", async () => {
  const started = await start({ replays: true, replayMs: 1 });
  const { sessions } = started;
  const session = await openPlayed(started);
  await expect(forkSession(sessions, session, { count: 2 })).rejects.toMatchObject({
    data: { code: "RESTORE_FAILED", message: expect.stringContaining("raise REPLAY_TIMEOUT") },
  });
  expect(sessions.load().active).toBe(1);
});
