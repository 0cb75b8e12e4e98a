import type { EnvironmentDefinition } from "../../environment/environment.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { EnvironmentMessage } from "../../session/calls/peer-request.js";
import type { SessionImage } from "../../session/calls/session-event.js";
import { capture, openFrom } from "../../session/copies/open-from.js";
import { Sessions } from "../../session/registry/sessions.js";
import { createRuntime } from "../../session/runtime.js";
import type { Session } from "../../session/session.js";
import { SessionRejectedError } from "../../session/session-rejected-error.js";
import { firstDifference } from "../../util/first-difference.js";
import { CheckSkip, demand, NotApplicable } from "../report.js";
import { type EpisodePlayer, UNSEEDED } from "./behaviour.js";
import { watchCalls } from "./watch.js";

/** An environment and the episode that the checks play. */
export interface RestoreSubject {
  definition: EnvironmentDefinition;
  actions: readonly JsonObject[];
  reset: JsonObject;
  seed: number;
}

export const RESTORE_ADVICE = {
  restores: "Save every field that a step reads or changes, read context.rng in each call, and share no object.",
  replays:
    "Take all randomness from context.rng, the time from context.now(), and everything else from context.record().",
  independent: "Set every field of the environment in reset, not only in the factory.",
  seedUsed: "Take all randomness from context.rng. Without randomness, write snapshot() and restore() instead.",
} as const;

/** A session restored from a snapshot equals the original, after the reset and after each step, and goes on like it. */
export async function restoresSnapshots(subject: RestoreSubject): Promise<void> {
  await withSessions(subject, async (sessions) => {
    const session = await sessions.open();
    if (session.environment?.snapshot === undefined) throw new NotApplicable("the environment has no snapshot()");
    await compareContinued(subject, sessions, { session, take: async (of) => await capture(of) });
  });
}

/** The events of an episode, performed again, give the same answers and random numbers. */
export async function replaysEpisodes(subject: RestoreSubject): Promise<void> {
  if (subject.definition.seeded !== true) throw new NotApplicable(UNSEEDED);
  await withSessions(subject, async (sessions) => {
    const session = await sessions.open();
    session.events.keep();
    const take = async (of: Session): Promise<SessionImage> => {
      const { kept, last, rngState } = of.events;
      demand(typeof kept !== "string", `the episode cannot be replayed: ${String(kept)}`);
      const { snapshotVersion, contract } = subject.definition;
      const { hash } = await contract.fingerprint();
      return { contract: hash, snapshotVersion, event: last, ...of.progress, rng: rngState, restore: { events: kept } };
    };
    await compareContinued(subject, sessions, { session, take });
  });
}

/** An episode that follows another one is like the first episode of a session. */
export async function resetsIndependently(subject: RestoreSubject): Promise<void> {
  if (subject.definition.seeded !== true) throw new NotApplicable(UNSEEDED);
  await withSessions(subject, async (sessions) => {
    const [fresh, used] = [await sessions.open(), await sessions.open()];
    await playOn(subject, used, { seed: subject.seed + 1 });
    const [first, second] = [await playOn(subject, fresh), await playOn(subject, used)];
    const difference = firstDifference(first, second);
    demand(difference === undefined, `an episode after another one differs first in ${difference}`);
  });
}

/**
 * An environment that declares `seeded` uses the seed or the random numbers that it determines. For one that declares
 * nothing and reads them, the check decides only if its episodes show it.
 */
export async function usesSeed(subject: RestoreSubject & Pick<EpisodePlayer, "unshown">): Promise<void> {
  const { seeded } = subject.definition;
  if (seeded === false) throw new NotApplicable(UNSEEDED);
  let isUsed = false;
  const watched = watchContexts(subject.definition, () => (isUsed = true));
  await withSessions({ ...subject, definition: watched }, async (sessions) => {
    await playOn(subject, await sessions.open());
  });
  if (seeded === undefined && !isUsed) throw new NotApplicable(UNSEEDED);
  demand(isUsed, "the environment declares seeded: true, but reads neither `seed` nor `rng`");
  if (seeded === undefined && subject.unshown !== undefined) {
    throw new CheckSkip(`the environment reads \`seed\` or \`rng\`, but ${subject.unshown}`);
  }
}

interface Continued {
  session: Session;
  take(session: Session): Promise<SessionImage>;
}

/** Continues from an image taken after each request, and compares what the image has and all that follows. */
async function compareContinued(
  subject: RestoreSubject,
  sessions: Sessions,
  { session, take }: Continued,
): Promise<void> {
  const repeats = await isRepeatable(subject, sessions);
  const images: SessionImage[] = [];
  const original = await playOn(subject, session, { after: async () => void images.push(await take(session)) });
  for (const [nth, image] of images.entries()) {
    const place = nth === 0 ? "after the reset" : `after step ${nth}`;
    const restored = await openFrom(sessions, structuredClone(image));
    const changed = firstDifference(readable(image), readable(await take(restored)));
    demand(changed === undefined, `the session restored ${place} differs in ${changed}`);
    const state = await answerOf(restored, { type: "state" });
    const again = { state, following: repeats ? await stepOn(subject, restored, nth) : [] };
    const expected = { state: original[nth]?.state, following: repeats ? original.slice(nth + 1) : [] };
    const difference = firstDifference(expected, again);
    demand(difference === undefined, `the session restored ${place} differs in ${difference}`);
    sessions.end(restored, "checked");
  }
}

/** The image with the values of the snapshot instead of its JSON, so that a difference names the field. */
function readable(image: SessionImage): unknown {
  const { restore } = image;
  if (!("snapshot" in restore) || typeof restore.snapshot !== "string") return plain(image);
  return plain({ ...image, restore: { ...restore, snapshot: JSON.parse(restore.snapshot) as unknown } });
}

/** False for an environment whose episodes differ by nature: only its states can be compared. */
async function isRepeatable(subject: RestoreSubject, sessions: Sessions): Promise<boolean> {
  const [one, other] = [await playOn(subject, await sessions.open()), await playOn(subject, await sessions.open())];
  return firstDifference(one, other) === undefined;
}

interface Played {
  answer: unknown;
  state: unknown;
}

/** Resets and plays all actions. */
async function playOn(
  subject: RestoreSubject,
  session: Session,
  { seed = subject.seed, after }: { seed?: number; after?: () => Promise<void> } = {},
): Promise<Played[]> {
  const data = { ...subject.reset, seed, episode_id: "checked" };
  const answer = await answerOf(session, { type: "reset", data });
  const first = { answer, state: await answerOf(session, { type: "state" }) };
  await after?.();
  return [first, ...(await stepOn(subject, session, 0, after))];
}

/** Plays the actions from this one on, also those after the end of the episode. */
async function stepOn(
  { actions }: RestoreSubject,
  session: Session,
  from: number,
  after?: () => Promise<void>,
): Promise<Played[]> {
  const played: Played[] = [];
  for (const data of actions.slice(from)) {
    const answer = await answerOf(session, { type: "step", data });
    played.push({ answer, state: await answerOf(session, { type: "state" }) });
    await after?.();
  }
  return played;
}

async function answerOf(session: Session, request: EnvironmentMessage): Promise<unknown> {
  return plain(await session.call(request, { orchestrator: true }));
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Runs a check on sessions in this process; a refused image is its failure. */
async function withSessions(
  { definition }: RestoreSubject,
  check: (sessions: Sessions) => Promise<void>,
): Promise<void> {
  if (!definition.supportsConcurrentSessions) throw new CheckSkip("it supports one session at a time");
  const sessions = new Sessions(createRuntime(definition), { maxConcurrentEnvs: 100, sessionTimeoutMs: null });
  try {
    await check(sessions);
  } catch (error) {
    if (error instanceof SessionRejectedError) demand(false, `${error.data.code}: ${error.message}`);
    throw error;
  } finally {
    await sessions.endAll("checked", 5_000);
  }
}

/** Calls `used` when the environment reads `seed` or `rng` of a context. */
function watchContexts(definition: EnvironmentDefinition, used: () => void): EnvironmentDefinition {
  const watchContext = (context: object): object =>
    new Proxy(context, {
      get: (target, key) => {
        if (key === "seed" || key === "rng") used();
        return Reflect.get(target, key) as unknown;
      },
    });
  return watchCalls(definition, ({ name, args, run }) => {
    const at = name === "reset" ? 0 : 1;
    const context = args[at];
    if (typeof context === "object" && context !== null) args[at] = watchContext(context);
    return run();
  });
}
