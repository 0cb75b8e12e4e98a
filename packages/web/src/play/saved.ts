import { isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { BASE } from "../server/base.js";
import type { PageSession } from "../server/kept-session.js";
import { readReward } from "./answer.js";
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
function render(saved: Omit<Saved, "dropped">): string {
  const { timeline } = saved;
  for (let from = 0; ; from++) {
    const rest = from > timeline.episodes.length ? EMPTY_TIMELINE : lastEpisodes(timeline, from);
    const dropped = timeline.steps.length - rest.steps.length;
    const origin = saved.origin && { ...saved.origin, index: saved.origin.index - from };
    const text = JSON.stringify({ ...saved, origin, timeline: thin(rest), dropped });
    if (text.length <= MAX_LENGTH || rest === EMPTY_TIMELINE) return text;
  }
}

/** The frames have the observation and the view once more. */
function thin(timeline: Timeline): object {
  const steps = timeline.steps.map(({ observation, view, metadata, ...step }) =>
    step.exchange ? step : { ...step, observation, view, metadata },
  );
  return { ...timeline, steps };
}

/** JSON has no NaN and no infinities. */
function revive(step: TimelineStep): TimelineStep {
  const received = step.exchange?.received;
  if (!received) return step;
  const { observation, metadata, reward } = received.data;
  const isResult = received.type !== "error";
  return {
    ...step,
    observation: isResult && isObject(observation) ? observation : null,
    metadata: isObject(metadata) ? metadata : undefined,
    view: received.view,
    reward: isResult ? readReward(reward, metadata) : null,
  };
}
