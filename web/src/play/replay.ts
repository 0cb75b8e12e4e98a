import type { JsonObject } from "../../../openenv/src/protocol/messages.js";
import { openLink, type ServerLink } from "../server/link.js";
import { readAnswer } from "./answer.js";
import { type Diff, diffValues } from "./diff.js";
import type { NewStep, Step, Timeline } from "./timeline.js";

/** A recorded step and what came of it now; `now` is undefined until it was played. */
export interface ReplayRow {
  recorded: Step;
  now: NewStep | undefined;
  /** Where the two differ; empty when they are equal. */
  diff: Diff;
}

export interface ReplayState {
  status: "playing" | "equal" | "differs" | "stopped" | "failed";
  rows: readonly ReplayRow[];
  /** Index of the first row that differs; -1 for none. */
  firstDifference: number;
  /** Why it failed. */
  problem: string | undefined;
}

interface ReplayOptions {
  /** True goes on after the first difference. */
  goOn: boolean;
  signal: AbortSignal;
  onChange(state: ReplayState): void;
}

const NO_DIFF: Diff = { changes: [], fields: 0 };

/** Plays a recorded timeline in a session of its own, and stops at the first step that differs. */
export async function replay(timeline: Timeline, { goOn, signal, onChange }: ReplayOptions): Promise<void> {
  const rows: ReplayRow[] = timeline.steps.map((recorded) => ({ recorded, now: undefined, diff: NO_DIFF }));
  let firstDifference = -1;
  const tell = (status: ReplayState["status"], problem?: string): void => {
    if (!signal.aborted || status === "stopped") onChange({ status, rows: [...rows], firstDifference, problem });
  };
  tell("playing");
  let link: ServerLink | undefined;
  const onAbort = (): void => link?.close();
  signal.addEventListener("abort", onAbort);
  try {
    link = await openLink(() => {});
    for (const [at, { recorded }] of rows.entries()) {
      if (signal.aborted) return tell("stopped");
      const now = await play(link, recorded);
      const diff = diffValues(comparable(recorded), comparable(now));
      rows[at] = { recorded, now, diff };
      if (diff.changes.length > 0 && firstDifference < 0) firstDifference = at;
      if (firstDifference >= 0 && !goOn) break;
      tell("playing");
    }
    tell(firstDifference < 0 ? "equal" : "differs");
  } catch (error) {
    tell(signal.aborted ? "stopped" : "failed", (error as Error).message);
  } finally {
    signal.removeEventListener("abort", onAbort);
    link?.close();
  }
}

async function play(link: ServerLink, { kind, action }: Step): Promise<NewStep> {
  // An episode id names one episode; the one that is played now is another.
  const { episode_id: _, ...again } = action;
  const data: JsonObject = kind === "reset" ? again : action;
  return readAnswer(kind, data, await link.ask({ type: kind, data }));
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
