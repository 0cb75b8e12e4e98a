import type { ValidationIssue } from "../../../openenv/src/errors.js";
import type { JsonObject } from "../../../openenv/src/protocol/messages.js";
import type { View } from "../../../openenv/src/protocol/web.js";
import type { Exchange } from "../server/link.js";

/** Why a request had no observation. */
export interface Failure {
  code: string;
  message: string;
  issues: ValidationIssue[];
}

/** One request and what came of it; number 0 of an episode is its reset. */
export interface Step {
  /** Its place in the timeline, from 0 on. */
  index: number;
  /** Index of its episode. */
  episode: number;
  number: number;
  kind: "reset" | "step";
  /** The action, or the data of the reset. */
  action: JsonObject;
  /** Null when it failed. */
  observation: JsonObject | null;
  /** Null for none, which is not 0. */
  reward: number | null;
  /** Sum of the rewards of its episode so far; null while there was none. */
  total: number | null;
  done: boolean;
  metadata: JsonObject | undefined;
  view: View | undefined;
  failure: Failure | undefined;
  /** Milliseconds. */
  ms: number;
  /** Unix milliseconds of the answer; 0 when it is not known. */
  at: number;
  /** The frames; absent for a step that was imported. */
  exchange: Exchange | undefined;
}

export interface Episode {
  index: number;
  reset: JsonObject;
  id: string | null;
  startedAt: number;
  /** `stopped`: a reset came before its end. `cut off`: the connection was lost. */
  status: "in progress" | "done" | "stopped" | "cut off";
  steps: number;
  total: number | null;
}

/** A line in the list of steps that is no step: an episode's head, or what happened to the connection. */
export type Row =
  | { kind: "episode"; episode: number }
  | { kind: "step"; step: number }
  | { kind: "event"; text: string; detail: string; at: number };

/** Everything that happened in this tab, oldest first. A value: every change makes another one. */
export interface Timeline {
  readonly episodes: readonly Episode[];
  readonly steps: readonly Step[];
  readonly rows: readonly Row[];
}

export const EMPTY_TIMELINE: Timeline = { episodes: [], steps: [], rows: [] };

export type NewStep = Omit<Step, "index" | "episode" | "number" | "total">;

/** Begins an episode with the reset that was answered; one in progress is stopped. */
export function addReset(timeline: Timeline, reset: NewStep): Timeline {
  if (reset.failure) return addStep(timeline, reset);
  return appendStep(startEpisode(timeline, reset.action, reset.at), reset);
}

/** Adds to the latest episode, or to one without a reset when there is none. */
export function addStep(timeline: Timeline, step: NewStep): Timeline {
  return appendStep(timeline.episodes.length > 0 ? timeline : startEpisode(timeline, {}, step.at), step);
}

/** Adds a line about the connection, and ends the latest episode when it was in progress. */
export function addEvent(timeline: Timeline, text: string, detail: string): Timeline {
  const rows: Row[] = [...timeline.rows, { kind: "event", text, detail, at: Date.now() }];
  return { ...withLatest(timeline, (episode) => end(episode, "cut off")), rows };
}

export function nameEpisode(timeline: Timeline, id: string): Timeline {
  return withLatest(timeline, (episode) => ({ ...episode, id }));
}

export function latestEpisode(timeline: Timeline): Episode | undefined {
  return timeline.episodes.at(-1);
}

function startEpisode(timeline: Timeline, reset: JsonObject, at: number): Timeline {
  const { episodes, rows, steps } = withLatest(timeline, (episode) => end(episode, "stopped"));
  const index = episodes.length;
  const id = typeof reset["episode_id"] === "string" ? reset["episode_id"] : null;
  const episode: Episode = { index, reset, id, startedAt: at, status: "in progress", steps: 0, total: null };
  return { episodes: [...episodes, episode], steps, rows: [...rows, { kind: "episode", episode: index }] };
}

function appendStep(timeline: Timeline, added: NewStep): Timeline {
  const before = timeline.episodes.at(-1) as Episode;
  const index = timeline.steps.length;
  const number = added.kind === "reset" ? 0 : before.steps + 1;
  const total = added.kind === "reset" ? null : sum(before.total, added.reward);
  const step: Step = { ...added, index, episode: before.index, number, total };
  const steps = added.kind === "reset" ? before.steps : number;
  const status = added.done ? "done" : before.status === "done" && added.failure ? "done" : before.status;
  return {
    episodes: [...timeline.episodes.slice(0, -1), { ...before, steps, total: total ?? before.total, status }],
    steps: [...timeline.steps, step],
    rows: [...timeline.rows, { kind: "step", step: index }],
  };
}

function sum(total: number | null, reward: number | null): number | null {
  return reward === null ? total : (total ?? 0) + reward;
}

function end(episode: Episode, status: Episode["status"]): Episode {
  return episode.status === "in progress" ? { ...episode, status } : episode;
}

function withLatest(timeline: Timeline, change: (episode: Episode) => Episode): Timeline {
  const latest = timeline.episodes.at(-1);
  if (!latest) return timeline;
  return { ...timeline, episodes: [...timeline.episodes.slice(0, -1), change(latest)] };
}
