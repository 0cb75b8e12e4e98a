import type { JsonObject } from "openenv-ts/protocol";
import { openServerSocket, type ServerSocket, ServerSocketClosedError } from "../server/server-socket.js";
import { readAnswer } from "./answer.js";
import { type Diff, diffValues } from "./diff.js";
import { type NewStep, type PlayedEpisode, type Timeline, type TimelineStep, timelineOf } from "./timeline.js";

/** A recorded step and its replay; `now` is undefined until it was replayed. */
export interface ReplayRow {
  recorded: TimelineStep;
  now: NewStep | undefined;
  /** The paths that differ; empty when both are equal. */
  diff: Diff;
}

export interface ReplayState {
  status: "queued" | "playing" | "equal" | "differs" | "failed";
  rows: readonly ReplayRow[];
  /** Index of the first row that differs; -1 for none. */
  firstDifference: number;
  /** Why it failed. */
  problem: string | undefined;
  /** Position in the queue of the server, starting at 1; 0 outside of it. */
  place: number;
}

interface ReplayOptions {
  /** True continues after the first difference. */
  goOn: boolean;
  signal: AbortSignal;
  onChange(state: ReplayState): void;
}

/** Progress of a long replay is reported a few times a second, not for every step. */
const REPORT_MS = 100;
/** Added to the error when the server is full. */
export const OWN_PLACE = "A replay needs a separate session, and this tab may use the only one.";
const NO_DIFF: Diff = { changes: [], fields: 0 };

/**
 * Replays a recorded timeline in a separate session, up to the first step that differs. Reports nothing after an abort.
 * Skips failed requests, which have no result to compare.
 */
export async function replay(timeline: Timeline, { goOn, signal, onChange }: ReplayOptions): Promise<void> {
  const rows: ReplayRow[] = timeline.steps
    .filter(({ failure }) => !failure)
    .map((recorded, index) => ({ recorded: { ...recorded, index }, now: undefined, diff: NO_DIFF }));
  let firstDifference = -1;
  let reportedAt = 0;
  let place = 0;
  const report = (status: ReplayState["status"], problem?: string): void => {
    reportedAt = Date.now();
    if (!signal.aborted) onChange({ status, rows: [...rows], firstDifference, problem, place });
  };
  report("playing");
  let socket: ServerSocket | undefined;
  const onAbort = (): void => socket?.close();
  signal.addEventListener("abort", onAbort);
  try {
    socket = await openServerSocket({
      ended: () => {},
      queued: (number) => {
        place = number;
        report(place > 0 ? "queued" : "playing");
      },
    });
    for (const [at, { recorded }] of rows.entries()) {
      if (signal.aborted) return;
      const now = await play(socket, recorded);
      const diff = differenceOf(recorded, now);
      rows[at] = { recorded, now, diff };
      if (diff.changes.length > 0 && firstDifference < 0) firstDifference = at;
      if (firstDifference >= 0 && !goOn) break;
      if (Date.now() - reportedAt >= REPORT_MS) report("playing");
    }
    report(firstDifference < 0 ? "equal" : "differs");
  } catch (error) {
    const isFull = error instanceof ServerSocketClosedError && error.end.places !== undefined;
    report("failed", `${(error as Error).message}${isFull ? `. ${OWN_PLACE}` : ""}`);
  } finally {
    signal.removeEventListener("abort", onAbort);
    socket?.close();
  }
}

/** The replayed steps as a timeline, with the episode numbers of the recorded one. */
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
  const data = kind === "reset" ? resetAgain(action) : action;
  return readAnswer(kind, data, await socket.ask({ type: kind, data }));
}

/** The data of a reset for a new episode: an id is unique, and what is played again belongs to no training run. */
export function resetAgain({ episode_id: _, metadata: _names, ...again }: JsonObject): JsonObject {
  return again;
}

/** What differs between a recorded answer and that of now. */
export function differenceOf(recorded: NewStep, now: NewStep): Diff {
  return diffValues(comparable(recorded), comparable(now));
}

/** Metadata describes how a step was served, which differs each time. */
function comparable({
  observation,
  reward,
  done,
  failure,
}: Pick<NewStep, "observation" | "reward" | "done" | "failure">) {
  const { metadata: _, ...rest } = observation ?? {};
  return { observation: observation === null ? null : rest, reward, done, error: failure?.message ?? null };
}
