import { restoreAll } from "../../environment/wrappers/wrapper.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isThenable } from "../../util/async/thenable.js";
import type { Turns } from "../../util/async/turns.js";
import { firstDifference } from "../../util/first-difference.js";
import { snapshot } from "../../util/snapshot.js";
import type { MaybePromise } from "../../util/types.js";
import type { SessionOpener } from "../attachable-session.js";
import { CALL, markCall } from "../calls/call-marks.js";
import type { SavedState, SessionEvent, SessionImage } from "../calls/session-event.js";
import { describeError } from "../failure.js";
import type { Sessions } from "../registry/sessions.js";
import { checkImage, readSnapshot, refuse } from "../restore/image.js";
import type { Runtime } from "../runtime.js";
import type { Session } from "../session.js";
import { logStart } from "../session-info.js";
import { SessionRejectedError } from "../session-rejected-error.js";

/** The time that a replay may keep other sessions waiting, in milliseconds. */
const TURN_MS = 10;

/**
 * Opens a session that continues from an image: with the same episode, numbers of steps and events, and random numbers.
 * An image may be used several times. `replays`: those of one fork, which begin one after the other.
 * @throws SessionRejectedError (CAPACITY_REACHED, FACTORY_ERROR, SNAPSHOT_MISMATCH, NOT_RESTORABLE, RESTORE_FAILED).
 */
export async function openFrom(
  sessions: Sessions,
  image: SessionImage,
  opener?: SessionOpener,
  replays?: Turns,
): Promise<Session> {
  const session = await sessions.open(undefined, opener);
  try {
    const restore = (): Promise<void> => restoreSession(session, image);
    await ("events" in image.restore && replays !== undefined ? replays.take(restore) : restore());
    logStart(session, opener?.isRestored === true ? "restored" : "copied");
    return session;
  } catch (error) {
    sessions.end(session, "it could not be restored");
    throw error;
  }
}

/**
 * Takes the image of a session between two calls, after those that wait. Sync for an idle session whose environment is
 * sync.
 * @throws SessionRejectedError (NOT_RESTORABLE, SNAPSHOT_FAILED, SESSION_ERROR), or rejects with it; the session
 * continues.
 */
export function capture(session: Session): MaybePromise<SessionImage> {
  const answer = session.call({ type: "capture" }, { orchestrator: true });
  const read = (message: Awaited<typeof answer>): SessionImage => {
    if (message.type === "image") return message.data;
    throw new SessionRejectedError(message.data);
  };
  return isThenable(answer) ? answer.then(read) : read(answer);
}

/** Brings a session that was just opened to the state of the image. @throws SessionRejectedError */
export async function restoreSession(session: Session, image: SessionImage): Promise<void> {
  const { runtime, events } = session;
  const { restore, event, rng, episodeId, episodes, stepCount, earlierSteps, done } = image;
  // An image of an earlier release has no result of the episode.
  const { reward = 0, failedSteps = 0, callsAreSteps = false } = image as Partial<typeof image>;
  await checkImage(image, runtime);
  await runtime.runQueue.turn();
  // A replay begins with the seed.
  events.rngState = "events" in restore ? { seed: rng.seed, state: null } : rng;
  if ("events" in restore) await replay(session, restore.events);
  else await load(session, restore);
  const place = rng.state === null ? undefined : firstDifference(rng.state, events.rngState.state);
  if (place !== undefined)
    throw refuse("RESTORE_FAILED", `after the replay the random numbers are in another place: ${place}`);
  events.last = event;
  const steps = "events" in restore ? session.progress.stepCount : stepCount;
  const result = { done, reward, failedSteps, callsAreSteps };
  session.progress = { episodeId, episodes, stepCount: steps, earlierSteps, ...result };
}

async function load(session: Session, { snapshot: saved, more }: SavedState): Promise<void> {
  const { runtime, environment, tag } = session;
  if (environment?.restore === undefined) throw refuse("NOT_RESTORABLE", "the environment has no restore()");
  try {
    const copy = readSnapshot(saved);
    const of = { server: runtime.number, session: tag };
    const work = markCall(of, CALL.restore, () => restoreAll(environment, { snapshot: copy, more: snapshot(more) }));
    const limit = limitOf("restore()", runtime);
    await Promise.race([work, limit.passed]).finally(() => limit.clear());
  } catch (error) {
    if (error instanceof SessionRejectedError) throw error;
    throw refuse("RESTORE_FAILED", `restore() failed: ${describeError(error, runtime.mode)}`, error);
  }
}

/** Performs the events of the episode again, which must go as they went. */
async function replay(session: Session, all: readonly SessionEvent[]): Promise<void> {
  if (session.runtime.definition.seeded !== true) {
    throw refuse("NOT_RESTORABLE", "only an environment that declares seeded: true can be replayed");
  }
  const { runQueue } = session.runtime;
  const limit = limitOf("the replay", session.runtime);
  session.events.keep();
  try {
    let since = performance.now();
    for (const event of all) {
      await Promise.race([replayEvent(session, event), limit.passed]);
      if (performance.now() - since < TURN_MS) continue;
      // The time in which others have their turn does not count.
      limit.stop();
      await runQueue.turn();
      limit.start();
      since = performance.now();
    }
    limit.stop();
  } finally {
    limit.clear();
  }
}

function limitOf(what: string, { restore: { replayMs } }: Runtime): RestoreLimit {
  const tooLong = refuse("RESTORE_FAILED", `${what} took more than ${replayMs / 1000} s: raise REPLAY_TIMEOUT`);
  return new RestoreLimit(replayMs, tooLong);
}

/** A time limit for a restore; of a replay it counts only while that has its turn. */
class RestoreLimit {
  /** Rejects with the error when the time is up. */
  readonly passed: Promise<never>;
  readonly #error: Error;
  #fail!: (error: Error) => void;
  #left: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(limitMs: number, error: Error) {
    this.#left = limitMs;
    this.#error = error;
    this.passed = new Promise((_, reject) => (this.#fail = reject));
    this.passed.catch(() => {});
    this.start();
  }

  start(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(this.#fail, this.#left, this.#error);
  }

  /** @throws the error when the time is up: sync events let no timer run. */
  stop(): void {
    this.clear();
    this.#left -= performance.now() - this.#since;
    if (this.#left <= 0) throw this.#error;
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

async function replayEvent(session: Session, event: SessionEvent): Promise<void> {
  const { events } = session;
  const { type, request } = snapshot(event);
  events.expect(event);
  if (type === "tool") {
    await session.callTool({ name: request["name"] as string, given: request["arguments"] as JsonObject });
  } else {
    await session.call({ type, data: request }, { orchestrator: true });
  }
  const difference = events.expect(undefined);
  if (difference === undefined) return;
  throw refuse("RESTORE_FAILED", `the replay of event ${event.event} differs from what was recorded in ${difference}`);
}
