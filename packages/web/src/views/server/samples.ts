import type { ServerView, ServerViewSession } from "openenv-ts/protocol";

/** What the sparklines are drawn from, one for each answer. `at` is in Unix seconds of the server. */
export interface Sample {
  at: number;
  stepsPerSecond: number;
  p50: number | null;
  p99: number | null;
}

/** How far back the sparklines go, seconds: a short way until there is more to show. */
const WINDOW_S = 300;
const SHORT_WINDOW_S = 60;
/** Answers further apart are not joined by a line. */
export const GAP_S = 5;

/** The samples with that of a new answer; those before the window are dropped, all of them when the clock went back. */
export function addSample(samples: readonly Sample[], view: ServerView): readonly Sample[] {
  const { at, steps_per_second: stepsPerSecond, latency_ms: latency } = view;
  const kept = samples.filter((sample) => sample.at < at && sample.at >= at - WINDOW_S);
  return [...kept, { at, stepsPerSecond, p50: latency?.p50 ?? null, p99: latency?.p99 ?? null }];
}

/** Seconds that a sparkline of these samples covers. */
export function windowOf(samples: readonly Sample[]): number {
  const past = (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0);
  return past > SHORT_WINDOW_S ? WINDOW_S : SHORT_WINDOW_S;
}

interface Mark {
  at: number;
  steps: number;
}

/** The rate of a session is that of so many seconds. */
const RATE_S = 5;

/** How many steps each session takes a second, from what the last few answers counted. */
export class Rates {
  #marks = new Map<string, Mark[]>();

  /** Sessions that an answer leaves out are forgotten. */
  add(at: number, sessions: readonly ServerViewSession[]): void {
    this.#marks = new Map(
      sessions.map(({ session_id, steps }) => {
        const before = (this.#marks.get(session_id) ?? []).filter((mark) => mark.at < at && mark.at >= at - RATE_S);
        return [session_id, [...before, { at, steps }]];
      }),
    );
  }

  /** Undefined for a session that was seen once. */
  of(session: string): number | undefined {
    const marks = this.#marks.get(session);
    const [first, last] = [marks?.[0], marks?.at(-1)];
    if (!first || !last || first === last) return undefined;
    return Math.max(0, last.steps - first.steps) / (last.at - first.at);
  }
}
