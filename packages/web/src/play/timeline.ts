import type { ValidationIssue } from "openenv-ts/internal";
import type { JsonObject, View, WebInfo } from "openenv-ts/protocol";
import type { RoundTrip } from "../server/server-socket.js";

/** Why a request had no observation. */
export interface StepFailure {
  code: string;
  message: string;
  issues: ValidationIssue[];
}

/** One request and what came of it; number 0 of an episode is its reset. */
export interface TimelineStep {
  /** Its place in the timeline, from 0 on. */
  index: number;
  /** Index of its episode. */
  episode: number;
  /** A step that is not counted has the number of the next one. */
  number: number;
  kind: "reset" | "step";
  /** The action, or the data of the reset. */
  action: JsonObject;
  /** Null when it failed. */
  observation: JsonObject | null;
  /** Null for none, which is not 0; NaN and infinities as the environment gave them. */
  reward: number | null;
  /** Sum of the rewards of its episode so far; null while there was none, and after the end. */
  total: number | null;
  done: boolean;
  metadata: JsonObject | undefined;
  view: View | undefined;
  failure: StepFailure | undefined;
  /** It has a result, or the server counts it without one. */
  counted: boolean;
  /** Milliseconds. */
  ms: number;
  /** Unix milliseconds of the answer; 0 when it is not known. */
  at: number;
  /** The frames; absent for a step that was imported. */
  exchange: RoundTrip | undefined;
}

export interface TimelineEpisode {
  index: number;
  /** What it is called: from 1 on, or what its file says. */
  number: number;
  reset: JsonObject;
  id: string | null;
  startedAt: number;
  /** `stopped`: a reset came before its end. `cut off`: the connection was lost. */
  status: "in progress" | "done" | "stopped" | "cut off";
  /** Up to its end, as the total is. */
  steps: number;
  total: number | null;
  /** Steps that were sent when it was over. */
  stepsAfter: number;
}

/** A line in the list of steps that is no step: an episode's head, or what happened to the connection. */
export type TimelineRow =
  | { kind: "episode"; episode: number }
  | { kind: "step"; step: number }
  | { kind: "event"; text: string; detail: string; at: number };

/** Everything that happened in this tab, oldest first. A value: every change makes another one. */
export interface Timeline {
  readonly episodes: readonly TimelineEpisode[];
  readonly steps: readonly TimelineStep[];
  readonly rows: readonly TimelineRow[];
}

export const EMPTY_TIMELINE: Timeline = { episodes: [], steps: [], rows: [] };

export type NewStep = Omit<TimelineStep, "index" | "episode" | "number" | "total">;

/** Begins an episode with the reset that was answered; one in progress is stopped. One that failed begins none. */
export function addReset(timeline: Timeline, reset: NewStep): Timeline {
  if (!reset.failure) return appendStep(startEpisode(timeline, reset.action, reset.at), reset);
  // Options that do not fit leave the present episode alone; an environment that has failed has none any more.
  if (goesOn(timeline) && reset.failure.code === "VALIDATION_ERROR") return appendStep(timeline, reset);
  if (goesOn(timeline)) return withLatest(appendStep(timeline, reset), (episode) => end(episode, "stopped"));
  return withLatest(appendStep(startEpisode(timeline, {}, reset.at), reset), (episode) => end(episode, "stopped"));
}

/** Adds to the latest episode; after a lost session and before any reset, to one without a reset. */
export function addStep(timeline: Timeline, step: NewStep): Timeline {
  return appendStep(goesOn(timeline) ? timeline : startEpisode(timeline, {}, step.at), step);
}

/** An episode that was played elsewhere. */
export interface PlayedEpisode {
  number: number;
  reset: NewStep;
  steps: NewStep[];
}

/** The same for whole episodes at once: step by step, each would copy all that came before it. */
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

/** Adds a line about the connection, and ends the latest episode when it was in progress. */
export function addEvent(timeline: Timeline, text: string, detail: string): Timeline {
  const rows: TimelineRow[] = [...timeline.rows, { kind: "event", text, detail, at: Date.now() }];
  return { ...withLatest(timeline, (episode) => end(episode, "cut off")), rows };
}

/** Counts the last step when the server does: one that failed because its result was invalid, and not its environment. */
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

/** Names the latest episode, unless it belongs to a session that is gone. */
export function nameEpisode(timeline: Timeline, id: string): Timeline {
  return goesOn(timeline) ? withLatest(timeline, (episode) => ({ ...episode, id })) : timeline;
}

export function latestEpisode(timeline: Timeline): TimelineEpisode | undefined {
  return timeline.episodes.at(-1);
}

/** Whether what comes next belongs to the latest episode: it was reset, and its session is still there. */
export function goesOn(timeline: Timeline): boolean {
  const status = latestEpisode(timeline)?.status;
  return (status === "in progress" || status === "done") && timeline.rows.at(-1)?.kind !== "event";
}

/** How many steps the session has counted since its latest reset. */
export function stepsTaken(timeline: Timeline): number {
  const { steps = 0, stepsAfter = 0 } = latestEpisode(timeline) ?? {};
  return steps + stepsAfter;
}

/** Whether the session has ended with this step: its connection was lost next. */
export function wasLastOfSession({ rows }: Timeline, { index }: TimelineStep): boolean {
  const at = rows.findLastIndex((row) => row.kind === "step" && row.step === index);
  return rows[at + 1]?.kind === "event";
}

/** Whether only a reset is answered: no episode goes on, and the environment wants one. */
export function needsReset(timeline: Timeline, { step_before_reset }: Pick<WebInfo, "step_before_reset">): boolean {
  return !step_before_reset && !goesOn(timeline);
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
