import type { ForkRequest } from "../../protocol/http.js";
import { allOrNone } from "../../util/async/all-or-none.js";
import { Turns } from "../../util/async/turns.js";
import type { SessionImage } from "../calls/session-event.js";
import { rejection, totalCapacity } from "../registry/capacity.js";
import type { Sessions } from "../registry/sessions.js";
import { refuse } from "../restore/image.js";
import type { Session } from "../session.js";
import { capture, openFrom } from "./open-from.js";

/** A replay that takes longer, such as one that waits, does not delay the next one of its fork any more. */
const REPLAY_LEAD_MS = 1_000;

/**
 * Opens copies of a session, in the state after its last event or after the one that is named: all of them, or none.
 * @throws SessionRejectedError (CAPACITY_REACHED, EVENT_NOT_KEPT, and those of capture and openFrom).
 */
export async function forkSession(
  sessions: Sessions,
  session: Session,
  { count, event, rng }: ForkRequest,
): Promise<{ event: number; forks: Session[] }> {
  // Otherwise sessions that may end to make room would end for copies that cannot be made.
  if (totalCapacity([sessions.load()]).available_slots < count) {
    session.runtime.statistics.countRejection("full");
    throw rejection(sessions.capacity(), "full");
  }
  const image = await imageAt(session, event);
  const { client, ownedByOrchestrator: orchestrator, principal } = session;
  const opener = { client, orchestrator, principal };
  const replays = new Turns(REPLAY_LEAD_MS);
  const opening = Array.from({ length: count }, () => openFrom(sessions, image, opener, replays));
  const undo = (fork: Session): void => sessions.end(fork, "another copy of its session could not be made");
  const forks = await allOrNone(opening, undo);
  if (rng === "split") for (const fork of forks) fork.events.split();
  return { event: image.event, forks };
}

/** The image after an event of the session; default the last. @throws SessionRejectedError (EVENT_NOT_KEPT, and those of capture). */
export async function imageAt(session: Session, wanted: number | null | undefined): Promise<SessionImage> {
  const { history } = session.events;
  const known = history?.at(wanted ?? 0);
  if (known !== undefined) return known;
  const image = await capture(session);
  const { restore } = image;
  const event = wanted ?? image.event;
  if (event === image.event) return image;
  const all = "events" in restore ? restore.events : [];
  const events = all.filter((one) => one.event <= event);
  if (events.at(-1)?.event === event) {
    // The replay counts the steps, and brings the random numbers to their place.
    return { ...image, event, rng: { seed: image.rng.seed, state: null }, restore: { events } };
  }
  const [first = image.event] = "events" in restore ? all.map((one) => one.event) : (history?.events ?? []);
  const kept = first === image.event ? `${first}` : `${first} to ${image.event}`;
  const advice = "events" in restore ? "" : "; the option history of the environment keeps more";
  throw refuse("EVENT_NOT_KEPT", `the state after event ${event} is not kept, only after ${kept}${advice}`);
}
