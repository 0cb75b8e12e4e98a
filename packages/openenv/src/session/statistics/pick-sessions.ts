import type { SessionColumn, SessionQuery } from "../../protocol/session-query.js";
import type { ServerViewSession } from "../../protocol/web.js";

/** The first sessions of a query, and the number of matches. */
export interface PickedSessions {
  sessions: ServerViewSession[];
  found: number;
}

/** Finds and sorts sessions; equal ones by age, oldest first. Those before the offset are needed to sort with other workers'. */
export function pickSessions(all: readonly ServerViewSession[], query: SessionQuery): PickedSessions {
  const words = (query.find.toLowerCase().match(WORDS) ?? []).map((word) => word.replace(/\s+/, " "));
  const found = words.length === 0 ? [...all] : all.filter((session) => hasAll(textOf(session), words));
  return { sessions: sortSessions(found, query).slice(0, query.offset + query.limit), found: found.length };
}

/** Sorts in place. */
export function sortSessions<S extends ServerViewSession>(sessions: S[], { sort, down }: SessionQuery): S[] {
  const keyOf = KEYS[sort];
  const sign = down ? -1 : 1;
  return sessions.sort(
    (a, b) => compare(keyOf(a), keyOf(b)) * sign || a.created_at - b.created_at || compare(a.session_id, b.session_id),
  );
}

const KEYS: Record<SessionColumn, (session: ServerViewSession) => string | number> = {
  session: ({ session_id }) => session_id,
  client: ({ client }) => client,
  // Only slow sessions are sorted, so that a list that is refreshed every second stays readable.
  state: ({ state, busy_s }) => (state === "slow" ? (busy_s ?? 0) : 0),
  open: ({ created_at }) => -created_at,
  episodes: ({ episodes }) => episodes,
  step: ({ step_count }) => step_count,
  reward: ({ reward }) => reward,
  failed: ({ failed_steps }) => failed_steps,
  idle: ({ last_activity_at }) => -last_activity_at,
  worker: ({ worker }) => worker,
};

/** `worker 3` is one search term, because the number alone would match most ids. */
const WORDS = /\bworker\s+\d+|\S+/g;

/** The names of the states on the page. */
const STATE_WORDS = { slow: "slow in a call", stepping: "stepping", detached: "detached", idle: "idle" } as const;

function textOf({ session_id, episode_id, client, state, worker, failed_steps }: ServerViewSession): string {
  const failing = failed_steps > 0 ? "failing" : "";
  return `${session_id} ${episode_id ?? ""} ${client} ${STATE_WORDS[state]} ${failing} worker ${worker}`.toLowerCase();
}

function hasAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
