import { setTimeout as sleep } from "node:timers/promises";
import type { EnvClient } from "../../client/env-client.js";
import { RemoteError } from "../../errors.js";
import { CheckSkip, demand, NotApplicable } from "../report.js";
import { differenceOf, type EpisodePlayer, isFull, play, UNSEEDED } from "./behaviour.js";

/** A server that is asked for many sessions. */
export interface Crowd extends EpisodePlayer {
  /** Opens a session at once or is refused; {@link EpisodePlayer.open} waits for a slot that is about to be freed. */
  openNow(): Promise<EnvClient>;
  /** Another worker of the same environment, if there is one to compare with. */
  openOther: (() => Promise<EnvClient>) | undefined;
  /** How many sessions may be open at once. */
  maxHeld: number;
  /** How many sessions come and go. */
  rounds: number;
  /** How many sessions the operators' list has; undefined where it may not be seen. */
  countSessions(): Promise<number | undefined>;
  /** How many sessions fit, once that is known. */
  room?: number;
}

/** Enough that a server with a few workers gives some to each. */
const AT_ONCE = 32;
/** What a server may take to notice that a session has ended. */
const PATIENCE_MS = 10_000;

/**
 * The same seed and actions in sessions that are open at the same time, and on the other server: wherever they landed,
 * they must agree.
 */
export async function workersAgree(crowd: Crowd): Promise<void> {
  // Where one seed gives two episodes there is nothing to compare.
  if (crowd.seeded === false) throw new NotApplicable(UNSEEDED);
  if (crowd.repeats !== true) throw new CheckSkip("seed_honoured did not pass");
  const sessions = await holdSessions(crowd, Math.min(AT_ONCE, crowd.maxHeld));
  try {
    if (crowd.openOther) sessions.push(await crowd.openOther());
    if (sessions.length < 2) throw new CheckSkip("the server takes one session at a time, and there is no other one");
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
    // Where nobody declared that the seed decides, agreement is all that is asked for.
    if (crowd.seeded === true && crowd.unshown !== undefined) throw new CheckSkip(crowd.unshown);
  } finally {
    await closeAll(sessions);
  }
}

/** Sessions until one is refused: with the code and the numbers, and without harm to the others. */
export async function capacityRejection(crowd: Crowd): Promise<void> {
  const sessions: EnvClient[] = [];
  try {
    const refusal = await fill(crowd, sessions);
    if (refusal === undefined) {
      throw new CheckSkip(`${sessions.length} sessions were open at once and none was refused; allow more to see it`);
    }
    crowd.room = sessions.length;
    demand(isFull(refusal), `session ${sessions.length + 1} was refused with ${describe(refusal)}`, {
      expected: "CAPACITY_REACHED",
      actual: refusal instanceof RemoteError ? refusal.wireCode : String(refusal),
    });
    const { active_sessions, max_sessions } = refusal.details;
    const counted = Number.isInteger(active_sessions) && Number.isInteger(max_sessions);
    demand(counted, "the refusal does not tell active_sessions and max_sessions as whole numbers", {
      expected: { active_sessions: "integer", max_sessions: "integer" },
      actual: { active_sessions: active_sessions ?? null, max_sessions: max_sessions ?? null },
    });
    const [first] = sessions;
    demand(first !== undefined, "not one session could be opened");
    const harmed = await failureOf(first.reset({ ...crowd.reset, seed: crowd.seed }));
    demand(harmed === undefined, `after the refusal a session that was open failed: ${String(harmed)}`);
    await sessions.pop()?.close();
    const late = await crowd.open().catch((error: unknown) => error);
    demand(
      !(late instanceof Error),
      `when a session had ended, the next one was refused all the same: ${String(late)}`,
    );
    sessions.push(late as EnvClient);
  } finally {
    await closeAll(sessions);
  }
}

/** Sessions come and go; then as many are there, or as many fit, as before. */
export async function nothingLeft(crowd: Crowd): Promise<void> {
  const { rounds } = crowd;
  const before = await crowd.countSessions();
  for (let round = 1; round <= rounds; round++) {
    const env = await crowd.open().catch((error: unknown) => error);
    demand(!(env instanceof Error), `session ${round} of ${rounds}, one after the other, was refused: ${String(env)}`);
    await using session = env as EnvClient;
    await session.reset({ ...crowd.reset, seed: round });
  }
  if (before !== undefined) return await countDown(crowd, before);
  if (crowd.room === undefined) {
    throw new CheckSkip(
      `${rounds} sessions came and went; what they left cannot be seen: GET /sessions is refused and the capacity is not known`,
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
  demand(false, `${left} of ${crowd.rounds} sessions are still there ${PATIENCE_MS / 1000} s after they were closed`, {
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
    const message = `before ${crowd.rounds} sessions came and went ${room} fitted at once, now ${sessions.length}`;
    demand(false, message, { expected: room, actual: sessions.length });
  } finally {
    await closeAll(sessions);
  }
}

/** Opens sessions until one is refused, which is returned, or as many as may be are open. */
async function fill(crowd: Crowd, sessions: EnvClient[]): Promise<unknown> {
  // What an earlier check has closed may not be free yet.
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
    // How it was refused is another check's.
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
