import type { JsonObject } from "openenv-ts/protocol";
import { openServerSocket, type ServerSocket, ServerSocketClosedError } from "../server/server-socket.js";
import { readAnswer } from "./answer.js";
import { type Diff, diffValues } from "./diff.js";
import { type NewStep, type PlayedEpisode, type Timeline, type TimelineStep, timelineOf } from "./timeline.js";

/** A recorded step and what came of it now; `now` is undefined until it was played. */
export interface ReplayRow {
  recorded: TimelineStep;
  now: NewStep | undefined;
  /** Where the two differ; empty when they are equal. */
  diff: Diff;
}

export interface ReplayState {
  status: "queued" | "playing" | "equal" | "differs" | "failed";
  rows: readonly ReplayRow[];
  /** Index of the first row that differs; -1 for none. */
  firstDifference: number;
  /** Why it failed. */
  problem: string | undefined;
  /** In the queue of the server, from 1 on; 0 outside of it. */
  place: number;
}

interface ReplayOptions {
  /** True goes on after the first difference. */
  goOn: boolean;
  signal: AbortSignal;
  onChange(state: ReplayState): void;
}

/** A long replay is told a few times a second, not with every step. */
const REPORT_MS = 100;
/** Said where the server has no place for it. */
export const OWN_PLACE = "A replay uses a separate session, and the session of this tab may hold the only place.";
const NO_DIFF: Diff = { changes: [], fields: 0 };

/**
 * Plays a recorded timeline in a session of its own, up to the first step that differs; aborted, it tells no more. What
 * failed has no result to compare and is not played.
 */
export async function replay(timeline: Timeline, { goOn, signal, onChange }: ReplayOptions): Promise<void> {
  const rows: ReplayRow[] = timeline.steps
    .filter(({ failure }) => !failure)
    .map((recorded, index) => ({ recorded: { ...recorded, index }, now: undefined, diff: NO_DIFF }));
  let firstDifference = -1;
  let toldAt = 0;
  let place = 0;
  const tell = (status: ReplayState["status"], problem?: string): void => {
    toldAt = Date.now();
    if (!signal.aborted) onChange({ status, rows: [...rows], firstDifference, problem, place });
  };
  tell("playing");
  let socket: ServerSocket | undefined;
  const onAbort = (): void => socket?.close();
  signal.addEventListener("abort", onAbort);
  try {
    socket = await openServerSocket({
      ended: () => {},
      queued: (number) => {
        place = number;
        tell(place > 0 ? "queued" : "playing");
      },
    });
    for (const [at, { recorded }] of rows.entries()) {
      if (signal.aborted) return;
      const now = await play(socket, recorded);
      const diff = diffValues(comparable(recorded), comparable(now));
      rows[at] = { recorded, now, diff };
      if (diff.changes.length > 0 && firstDifference < 0) firstDifference = at;
      if (firstDifference >= 0 && !goOn) break;
      if (Date.now() - toldAt >= REPORT_MS) tell("playing");
    }
    tell(firstDifference < 0 ? "equal" : "differs");
  } catch (error) {
    const isFull = error instanceof ServerSocketClosedError && error.end.places !== undefined;
    tell("failed", `${(error as Error).message}${isFull ? `. ${OWN_PLACE}` : ""}`);
  } finally {
    signal.removeEventListener("abort", onAbort);
    socket?.close();
  }
}

/** What was played now, as a timeline of its own; its episodes are called as those of the recorded one. */
export function replayedTimeline(rows: readonly ReplayRow[], { episodes }: Timeline): Timeline {
  const played: PlayedEpisode[] = [];
  for (const { now, recorded } of rows) {
    const number = episodes[recorded.episode]?.number ?? 0;
    if (now?.kind === "reset") played.push({ number, reset: now, steps: [] });
    else if (now) played.at(-1)?.steps.push(now);
  }
  return timelineOf(played);
}

async function play(socket: ServerSocket, { kind, action }: TimelineStep): Promise<NewStep> {
  // An episode id names one episode; the one that is played now is another.
  const { episode_id: _, ...again } = action;
  const data: JsonObject = kind === "reset" ? again : action;
  return readAnswer(kind, data, await socket.ask({ type: kind, data }));
}

/** Metadata tells how a step was served, which is never the same twice. */
function comparable({
  observation,
  reward,
  done,
  failure,
}: Pick<NewStep, "observation" | "reward" | "done" | "failure">) {
  const { metadata: _, ...rest } = observation ?? {};
  return { observation: observation === null ? null : rest, reward, done, error: failure?.message ?? null };
}
