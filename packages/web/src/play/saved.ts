import type { JsonObject } from "openenv-ts/protocol";
import { BASE } from "../server/base.js";
import type { PageSession } from "../server/kept-session.js";
import { readAnswer } from "./answer.js";
import { EMPTY_TIMELINE, lastEpisodes, type Timeline, type TimelineStep } from "./timeline.js";

/** The episode and the step that a copy of a session begins after. */
export interface Origin {
  /** The id of the episode, else its number. */
  episode: string;
  step: number;
  /** Index of the episode in the timeline of the copy. */
  index: number;
}

/** What a tab continues with: after a reload, or as a copy of another tab. */
export interface Saved {
  kept: PageSession;
  timeline: Timeline;
  /** The reset or step without an answer. */
  sent?: { kind: "reset" | "step"; action: JsonObject } | undefined;
  origin?: Origin | undefined;
  /** Number of steps that were too large to keep. */
  dropped: number;
}

/** A browser keeps about five million characters for a tab. */
const MAX_LENGTH = 4_000_000;
/** Other pages of the same host may have sessions on other servers. */
const KEY = `openenv-web.session ${BASE}`;

/** Keeps the session for the next page of this tab; without it nothing is kept. */
export function save(saved: Omit<Saved, "dropped"> | undefined): void {
  try {
    sessionStorage.removeItem(KEY);
    if (saved) sessionStorage.setItem(KEY, render(saved));
  } catch {
    // The session ends with the page if the browser stores nothing.
  }
}

/** What this page begins with. It is removed: a copy of this tab would take the session over. */
export function takeSaved(): Saved | undefined {
  try {
    const text = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    if (text === null) return undefined;
    const saved = JSON.parse(text) as Saved;
    return { ...saved, timeline: { ...saved.timeline, steps: saved.timeline.steps.map(revive) } };
  } catch {
    return undefined;
  }
}

/** Opens a tab that begins with the copy. A new tab starts with a copy of the storage of this one. */
export function openFork(saved: Omit<Saved, "dropped">): boolean {
  save(saved);
  try {
    return window.open(location.href.replace(/#.*/, "#/play")) !== null;
  } finally {
    save(undefined);
  }
}

/** True when a part of the timeline would be lost with the page. */
export function isTooLarge(timeline: Timeline): boolean {
  let length = 0;
  for (const { exchange } of timeline.steps) {
    length += exchange ? exchange.sentBytes + exchange.receivedBytes : 0;
    if (length > MAX_LENGTH / 2) break;
  }
  return length > MAX_LENGTH / 2 && JSON.stringify(thin(timeline)).length > MAX_LENGTH;
}

/** The newest episodes that are small enough, and no part of one. */
export function render(saved: Omit<Saved, "dropped">): string {
  const { timeline } = saved;
  const lengths = lengthsOf(timeline);
  let from = timeline.episodes.length;
  let length = JSON.stringify({ ...saved, timeline: EMPTY_TIMELINE }).length;
  while (from > 0 && (length += lengths[from - 1] as number) <= MAX_LENGTH) from--;
  const rest = lastEpisodes(timeline, from);
  const dropped = timeline.steps.length - rest.steps.length;
  const origin = saved.origin && { ...saved.origin, index: saved.origin.index - from };
  return JSON.stringify({ ...saved, origin, timeline: thin(rest), dropped });
}

/** The number of characters of each episode: rows before the first belong to it. */
function lengthsOf(timeline: Timeline): number[] {
  const lengths = timeline.episodes.map((episode) => JSON.stringify(episode).length);
  const { steps } = thin(timeline);
  let at = 0;
  for (const row of timeline.rows) {
    if (row.kind === "episode") at = row.episode;
    const step = row.kind === "step" ? JSON.stringify(steps[row.step]).length : 0;
    lengths[at] = (lengths[at] ?? 0) + step + JSON.stringify(row).length + SEPARATORS;
  }
  return lengths;
}

/** The commas after an episode, a step and a row. */
const SEPARATORS = 3;

/** The frames have the observation and the view once more. */
function thin(timeline: Timeline) {
  const steps = timeline.steps.map(({ observation, view, metadata, ...step }) =>
    step.exchange ? step : { ...step, observation, view, metadata },
  );
  return { ...timeline, steps };
}

function revive(step: TimelineStep): TimelineStep {
  if (!step.exchange) return step;
  const { observation, metadata, view, reward } = readAnswer(step.kind, step.action, step.exchange);
  return { ...step, observation, metadata, view, reward };
}
