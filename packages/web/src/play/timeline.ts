import type { ValidationIssue } from "openenv-ts";
import type { JsonObject, View, WebInfo } from "openenv-ts/protocol";
import type { RoundTrip } from "../server/server-socket.js";

/** Why a request had no observation. */
export interface StepFailure {
  code: string;
  message: string;
  issues: ValidationIssue[];
}

/** One request and its result; number 0 of an episode is its reset. */
export interface TimelineStep {
  /** Index in the timeline. */
  index: number;
  /** Index of its episode. */
  episode: number;
  /** A step that does not count has the number of the next one. */
  number: number;
  kind: "reset" | "step";
  /** The action, or the data of the reset. */
  action: JsonObject;
  /** Null when it failed. */
  observation: JsonObject | null;
  /** Null for no reward, which is not 0; may be NaN or infinite. */
  reward: number | null;
  /** Sum of the rewards of its episode so far; null before the first reward, and after the end. */
  total: number | null;
  done: boolean;
  metadata: JsonObject | undefined;
  view: View | undefined;
  failure: StepFailure | undefined;
  /** True when the server counts the step: it has a result, or counts without one. */
  counted: boolean;
  /** Milliseconds. */
  ms: number;
  /** Time of the response in Unix milliseconds; 0 when unknown. */
  at: number;
  /** The frames; absent for an imported step. */
  exchange: RoundTrip | undefined;
}

export interface TimelineEpisode {
  index: number;
  /** Shown number, starting at 1; an imported episode keeps that of its file. */
  number: number;
  reset: JsonObject;
  id: string | null;
  startedAt: number;
  /** `stopped`: a reset came before its end. `cut off`: the connection was lost. */
  status: "in progress" | "done" | "stopped" | "cut off";
  /** Steps up to its end, like the total. */
  steps: number;
  total: number | null;
  /** Steps that were sent after its end. */
  stepsAfter: number;
}

/** A row in the list of steps: a step, the head of an episode, or a connection event. */
export type TimelineRow =
  | { kind: "episode"; episode: number }
  | { kind: "step"; step: number }
  | { kind: "event"; text: string; detail: string; at: number };

/** Everything that happened in this tab, oldest first. Immutable: every change creates a new object. */
export interface Timeline {
  readonly episodes: readonly TimelineEpisode[];
  readonly steps: readonly TimelineStep[];
  readonly rows: readonly TimelineRow[];
}

export const EMPTY_TIMELINE: Timeline = { episodes: [], steps: [], rows: [] };

export type NewStep = Omit<TimelineStep, "index" | "episode" | "number" | "total">;

/** Starts an episode with a successful reset and stops the one in progress. A failed reset starts none. */
export function addReset(timeline: Timeline, reset: NewStep): Timeline {
  if (!reset.failure) return appendStep(startEpisode(timeline, reset.action, reset.at), reset);
  // Invalid options do not affect the current episode; after a failure of the environment there is none.
  if (goesOn(timeline) && reset.failure.code === "VALIDATION_ERROR") return appendStep(timeline, reset);
  if (goesOn(timeline)) return withLatest(appendStep(timeline, reset), (episode) => end(episode, "stopped"));
  return withLatest(appendStep(startEpisode(timeline, {}, reset.at), reset), (episode) => end(episode, "stopped"));
}

/** Adds to the latest episode; after a lost session or before any reset, to a new one without a reset. */
export function addStep(timeline: Timeline, step: NewStep): Timeline {
  return appendStep(goesOn(timeline) ? timeline : startEpisode(timeline, {}, step.at), step);
}

/** Adds an episode from a file. */
export interface PlayedEpisode {
  number: number;
  reset: NewStep;
  steps: NewStep[];
}

/** Adds several episodes at once: adding step by step would copy the whole timeline each time. */
export function timelineOf(played: readonly PlayedEpisode[]): Timeline {
  const episodes: TimelineEpisode[] = [];
  const steps: TimelineStep[] = [];
  const rows: TimelineRow[] = [];
  for (const { number, reset, steps: taken } of played) {
    let episode = { ...newEpisode(episodes.length, reset.action, reset.at), number };
    rows.push({ kind: "episode", episode: episode.index });
    for (const added of [reset, ...taken]) {
      const step = placeStep(episode, steps.length, added);
      episode = afterStep(episode, step);
      rows.push({ kind: "step", step: step.index });
      steps.push(step);
    }
    episodes.push(end(episode, "stopped"));
  }
  return { episodes, steps, rows };
}

/** Adds a row about the connection, and ends the latest episode if it was in progress. */
export function addEvent(timeline: Timeline, text: string, detail: string): Timeline {
  const rows: TimelineRow[] = [...timeline.rows, { kind: "event", text, detail, at: Date.now() }];
  return { ...withLatest(timeline, (episode) => end(episode, "cut off")), rows };
}

/** Counts the last step if the server does: it failed because of an invalid result, not because of an exception. */
export function countAsServer(timeline: Timeline, stepCount: unknown): Timeline {
  const last = timeline.steps.at(-1);
  if (!last?.failure || last.kind === "reset" || !goesOn(timeline) || stepCount !== stepsTaken(timeline) + 1) {
    return timeline;
  }
  const step = { ...last, counted: true };
  return withLatest({ ...timeline, steps: [...timeline.steps.slice(0, -1), step] }, (episode) =>
    afterStep(episode, step),
  );
}

/** Sets the id of the latest episode, unless its session is gone. */
export function nameEpisode(timeline: Timeline, id: string): Timeline {
  return goesOn(timeline) ? withLatest(timeline, (episode) => ({ ...episode, id })) : timeline;
}

/** The number of the event in the current session; undefined for a step of an earlier one. */
export function eventOf({ rows }: Timeline, { index, exchange }: TimelineStep): number | undefined {
  const lost = rows.findLastIndex(({ kind }) => kind === "event");
  const at = rows.findLastIndex((row) => row.kind === "step" && row.step === index);
  return at > lost ? exchange?.received.event : undefined;
}

/** The timeline up to a step, whose episode continues. */
export function cutAfter(
  { episodes, steps, rows }: Timeline,
  { index, episode, number, total, done }: TimelineStep,
): Timeline {
  const cut = episodes.slice(0, episode + 1).map((one): TimelineEpisode => {
    if (one.index < episode) return one;
    return { ...one, status: done ? "done" : "in progress", steps: number, total, stepsAfter: 0 };
  });
  const end = rows.findIndex((row) => row.kind === "step" && row.step === index);
  return { episodes: cut, steps: steps.slice(0, index + 1), rows: rows.slice(0, end + 1) };
}

/** The timeline from an episode on. */
export function lastEpisodes({ episodes, steps, rows }: Timeline, from: number): Timeline {
  if (from === 0) return { episodes, steps, rows };
  const all = steps.findIndex(({ episode }) => episode >= from);
  const skipped = all < 0 ? steps.length : all;
  const first = rows.findIndex((row) => row.kind === "episode" && row.episode === from);
  return {
    episodes: episodes.slice(from).map((episode) => ({ ...episode, index: episode.index - from })),
    steps: steps.slice(skipped).map((step) => ({ ...step, index: step.index - skipped, episode: step.episode - from })),
    rows: (first < 0 ? [] : rows.slice(first)).map((row) => {
      if (row.kind === "episode") return { ...row, episode: row.episode - from };
      return row.kind === "step" ? { ...row, step: row.step - skipped } : row;
    }),
  };
}

export function latestEpisode(timeline: Timeline): TimelineEpisode | undefined {
  return timeline.episodes.at(-1);
}

/** True when the next step belongs to the latest episode: it was reset, and its session is still open. */
export function goesOn(timeline: Timeline): boolean {
  const status = latestEpisode(timeline)?.status;
  return (status === "in progress" || status === "done") && timeline.rows.at(-1)?.kind !== "event";
}

/** The number of steps that the session has counted since its latest reset. */
export function stepsTaken(timeline: Timeline): number {
  const { steps = 0, stepsAfter = 0 } = latestEpisode(timeline) ?? {};
  return steps + stepsAfter;
}

/** True when the session ended with this step: the next row is a lost connection. */
export function wasLastOfSession({ rows }: Timeline, { index }: TimelineStep): boolean {
  const at = rows.findLastIndex((row) => row.kind === "step" && row.step === index);
  return rows[at + 1]?.kind === "event";
}

/** True when the environment accepts only a reset: there is no current episode, and it requires one. */
export function needsReset(timeline: Timeline, { step_before_reset }: Pick<WebInfo, "step_before_reset">): boolean {
  return !step_before_reset && !goesOn(timeline);
}

/** False for a failed step, whose number the next step has as well. */
export function isCounted({ kind, counted }: Pick<TimelineStep, "kind" | "counted">): boolean {
  return kind === "reset" || counted;
}

function startEpisode(timeline: Timeline, reset: JsonObject, at: number): Timeline {
  const { episodes, rows, steps } = withLatest(timeline, (episode) => end(episode, "stopped"));
  const episode = newEpisode(episodes.length, reset, at);
  return { episodes: [...episodes, episode], steps, rows: [...rows, { kind: "episode", episode: episode.index }] };
}

function newEpisode(index: number, reset: JsonObject, at: number): TimelineEpisode {
  const id = typeof reset["episode_id"] === "string" ? reset["episode_id"] : null;
  return {
    index,
    number: index + 1,
    reset,
    id,
    startedAt: at,
    status: "in progress",
    steps: 0,
    total: null,
    stepsAfter: 0,
  };
}

function appendStep(timeline: Timeline, added: NewStep): Timeline {
  const before = timeline.episodes.at(-1) as TimelineEpisode;
  const step = placeStep(before, timeline.steps.length, added);
  return {
    episodes: [...timeline.episodes.slice(0, -1), afterStep(before, step)],
    steps: [...timeline.steps, step],
    rows: [...timeline.rows, { kind: "step", step: step.index }],
  };
}

function placeStep(episode: TimelineEpisode, index: number, added: NewStep): TimelineStep {
  const isReset = added.kind === "reset";
  const total = isReset || episode.status === "done" ? null : sum(episode.total, added.reward);
  const number = isReset ? 0 : episode.steps + episode.stepsAfter + 1;
  return { ...added, index, episode: episode.index, number, total };
}

function afterStep(episode: TimelineEpisode, { kind, number, total, done, counted }: TimelineStep): TimelineEpisode {
  if (!counted) return episode;
  const isReset = kind === "reset";
  if (!isReset && episode.status === "done") return { ...episode, stepsAfter: episode.stepsAfter + 1 };
  const steps = isReset ? episode.steps : number;
  return { ...episode, steps, total: total ?? episode.total, status: done ? "done" : episode.status };
}

function sum(total: number | null, reward: number | null): number | null {
  return reward === null || !Number.isFinite(reward) ? total : (total ?? 0) + reward;
}

function end(episode: TimelineEpisode, status: TimelineEpisode["status"]): TimelineEpisode {
  return episode.status === "in progress" ? { ...episode, status } : episode;
}

function withLatest(timeline: Timeline, change: (episode: TimelineEpisode) => TimelineEpisode): Timeline {
  const latest = timeline.episodes.at(-1);
  if (!latest) return timeline;
  return { ...timeline, episodes: [...timeline.episodes.slice(0, -1), change(latest)] };
}
