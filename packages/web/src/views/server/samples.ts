import type { ServerView } from "openenv-ts/protocol";

/** The data of the sparklines, one sample per response. `at` is in Unix seconds of the server. */
export interface Sample {
  at: number;
  stepsPerSecond: number;
  p50: number | null;
  p99: number | null;
}

/** Time spans of the sparklines in seconds: short until there is more history. */
const WINDOW_S = 300;
const SHORT_WINDOW_S = 60;
/** Samples further apart are not connected. */
export const GAP_S = 5;

/** The samples with a new one. Drops those before the window, or all when the clock was set back. */
export function addSample(samples: readonly Sample[], view: ServerView): readonly Sample[] {
  const { at, steps_per_second: stepsPerSecond, latency_ms: latency } = view;
  const kept = samples.filter((sample) => sample.at < at && sample.at >= at - WINDOW_S);
  return [...kept, { at, stepsPerSecond, p50: latency?.p50 ?? null, p99: latency?.p99 ?? null }];
}

/** Time span in seconds of a sparkline with these samples. */
export function windowOf(samples: readonly Sample[]): number {
  const past = (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0);
  return past > SHORT_WINDOW_S ? WINDOW_S : SHORT_WINDOW_S;
}

interface Mark {
  at: number;
  steps: number;
}

/** Seconds over which the rate of a session is computed. */
const RATE_S = 5;

/** Steps per second of each session, from the step counts of the last responses. */
export class Rates {
  #marks = new Map<string, Mark[]>();

  /** Sessions that are missing in a response are dropped. */
  add(at: number, sessions: ServerView["sessions"]): void {
    this.#marks = new Map(
      sessions.map(({ session_id, steps }) => {
        const before = (this.#marks.get(session_id) ?? []).filter((mark) => mark.at < at && mark.at >= at - RATE_S);
        return [session_id, [...before, { at, steps }]];
      }),
    );
  }

  /** Undefined for a session that was seen only once. */
  of(session: string): number | undefined {
    const marks = this.#marks.get(session);
    const [first, last] = [marks?.[0], marks?.at(-1)];
    if (!first || !last || first === last) return undefined;
    return Math.max(0, last.steps - first.steps) / (last.at - first.at);
  }
}
