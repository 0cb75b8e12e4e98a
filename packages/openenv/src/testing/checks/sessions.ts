import { setTimeout as sleep } from "node:timers/promises";
import type { EnvClient } from "../../client/env-client.js";
import { RemoteError } from "../../errors.js";
import { CheckSkip, demand, NotApplicable } from "../report.js";
import { differenceOf, type EpisodePlayer, isFull, play, UNSEEDED } from "./behaviour.js";

/** A server on which many sessions are opened. */
export interface Crowd extends EpisodePlayer {
  /** Opens a session or fails at once; {@link EpisodePlayer.open} waits for a slot that is about to become free. */
  openNow(): Promise<EnvClient>;
  /** Another worker of the same environment, if there is one to compare with. */
  openOther: (() => Promise<EnvClient>) | undefined;
  /** The maximum number of open sessions. */
  maxHeld: number;
  /** The number of sessions that are opened and closed. */
  rounds: number;
  /** The length of the operators' list of sessions; undefined without access. */
  countSessions(): Promise<number | undefined>;
  /** The capacity, once it is known. */
  room?: number;
}

/** Enough for a server with a few workers to use each of them. */
const AT_ONCE = 32;
/** The time that a server may take to notice that a session has ended. */
const PATIENCE_MS = 10_000;

/**
 * Plays the same seed and actions in sessions that are open at the same time, and on the other server: they must agree,
 * whichever worker they run on.
 */
export async function workersAgree(crowd: Crowd): Promise<void> {
  // If one seed gives two episodes there is nothing to compare.
  if (crowd.seeded === false) throw new NotApplicable(UNSEEDED);
  if (crowd.repeats !== true) throw new CheckSkip("seed_honoured did not pass");
  const sessions = await holdSessions(crowd, Math.min(AT_ONCE, crowd.maxHeld));
  try {
    if (crowd.openOther) sessions.push(await crowd.openOther());
    if (sessions.length < 2)
      throw new CheckSkip("the server accepts only one session at a time, and there is no other server");
    const episodes = await Promise.all(sessions.map((env) => play(crowd, env, crowd.seed)));
    const [first = [], ...others] = episodes;
    for (const [nth, other] of others.entries()) {
      const difference = differenceOf(crowd, first, other);
      const isOther = crowd.openOther !== undefined && nth === others.length - 1;
      const where = isOther ? "two workers" : "two sessions at the same time";
      demand(
        difference === undefined,
        `with seed ${crowd.seed} and the same actions ${where} differ first in ${difference}`,
      );
    }
    // If it is not declared that the seed decides, agreement is enough.
    if (crowd.seeded === true && crowd.unshown !== undefined) throw new CheckSkip(crowd.unshown);
  } finally {
    await closeAll(sessions);
  }
}

/** Opens sessions until one is rejected: it must have the code and the counts, and the others must continue. */
export async function capacityRejection(crowd: Crowd): Promise<void> {
  const sessions: EnvClient[] = [];
  try {
    const refusal = await fill(crowd, sessions);
    if (refusal === undefined) {
      throw new CheckSkip(
        `${sessions.length} sessions were open at once and none was rejected; allow more to test the capacity`,
      );
    }
    crowd.room = sessions.length;
    demand(isFull(refusal), `session ${sessions.length + 1} was rejected with ${describe(refusal)}`, {
      expected: "CAPACITY_REACHED",
      actual: refusal instanceof RemoteError ? refusal.wireCode : String(refusal),
    });
    const { active_sessions, max_sessions } = refusal.details;
    const counted = Number.isInteger(active_sessions) && Number.isInteger(max_sessions);
    demand(counted, "the rejection does not have the integers active_sessions and max_sessions", {
      expected: { active_sessions: "integer", max_sessions: "integer" },
      actual: { active_sessions: active_sessions ?? null, max_sessions: max_sessions ?? null },
    });
    const [first] = sessions;
    demand(first !== undefined, "no session could be opened");
    const harmed = await failureOf(first.reset({ ...crowd.reset, seed: crowd.seed }));
    demand(harmed === undefined, `after the rejection an open session failed: ${String(harmed)}`);
    await sessions.pop()?.close();
    const late = await crowd.open().catch((error: unknown) => error);
    demand(!(late instanceof Error), `after a session had ended, the next one was still rejected: ${String(late)}`);
    sessions.push(late as EnvClient);
  } finally {
    await closeAll(sessions);
  }
}

/** Opens and closes sessions; then the number of sessions, or the capacity, must be the same as before. */
export async function nothingLeft(crowd: Crowd): Promise<void> {
  const { rounds } = crowd;
  const before = await crowd.countSessions();
  for (let round = 1; round <= rounds; round++) {
    const env = await crowd.open().catch((error: unknown) => error);
    demand(
      !(env instanceof Error),
      `session ${round} of ${rounds}, opened one after the other, was rejected: ${String(env)}`,
    );
    await using session = env as EnvClient;
    await session.reset({ ...crowd.reset, seed: round });
  }
  if (before !== undefined) return await countDown(crowd, before);
  if (crowd.room === undefined) {
    throw new CheckSkip(
      `${rounds} sessions were opened and closed; leaks cannot be detected: GET /sessions is not allowed and the capacity is unknown`,
    );
  }
  await roomAgain(crowd, crowd.room);
}

async function countDown(crowd: Crowd, before: number): Promise<void> {
  let left = 0;
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(50)) {
    left = ((await crowd.countSessions()) ?? 0) - before;
    if (left <= 0) return;
  }
  demand(false, `${left} of ${crowd.rounds} sessions are still open ${PATIENCE_MS / 1000} s after they were closed`, {
    expected: before,
    actual: before + left,
  });
}

async function roomAgain(crowd: Crowd, room: number): Promise<void> {
  const sessions: EnvClient[] = [];
  try {
    for (let nth = 1; nth <= room; nth++) sessions.push(await crowd.open());
  } catch (error) {
    if (!isFull(error)) throw error;
    const message = `${room} sessions fitted at once before ${crowd.rounds} were opened and closed, now ${sessions.length} do`;
    demand(false, message, { expected: room, actual: sessions.length });
  } finally {
    await closeAll(sessions);
  }
}

/** Opens sessions up to the limit, or until one is rejected; returns the rejection. */
async function fill(crowd: Crowd, sessions: EnvClient[]): Promise<unknown> {
  // Slots of an earlier check may not be free yet.
  sessions.push(await crowd.open());
  while (sessions.length < crowd.maxHeld) {
    try {
      sessions.push(await crowd.openNow());
    } catch (error) {
      return error;
    }
  }
  return undefined;
}

async function holdSessions(crowd: Crowd, count: number): Promise<EnvClient[]> {
  const sessions = [await crowd.open()];
  try {
    while (sessions.length < count) sessions.push(await crowd.openNow());
  } catch (error) {
    // The form of the rejection is tested by another check.
    if (error instanceof RemoteError) return sessions;
    await closeAll(sessions);
    throw error;
  }
  return sessions;
}

async function closeAll(sessions: readonly EnvClient[]): Promise<void> {
  await Promise.all(sessions.map((env) => env.close()));
}

function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function describe(error: unknown): string {
  return error instanceof RemoteError ? `the code ${error.wireCode}` : String(error);
}
