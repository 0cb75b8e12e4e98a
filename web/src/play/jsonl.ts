import {
  EPISODE_FORMAT,
  type EpisodeRecord,
  parseEpisode,
  type RecordedStep,
} from "../../../openenv/src/protocol/episode.js";
import { addReset, addStep, EMPTY_TIMELINE, type NewStep, type Step, type Timeline } from "./timeline.js";

/** Where a timeline was played. */
export interface Source {
  environment: string;
  url: string;
}

/** The timeline as `openenv collect` writes it: one episode a line. Steps that failed have no observation and are left out. */
export function renderJsonl({ episodes, steps }: Timeline, { environment, url }: Source): string {
  const lines = episodes.map((episode): EpisodeRecord => {
    const own = steps.filter((step) => step.episode === episode.index && step.observation !== null);
    const start = own.find(({ kind }) => kind === "reset");
    const played = own.filter(({ kind }) => kind === "step");
    return {
      format: EPISODE_FORMAT,
      episode: episode.index,
      environment,
      url,
      started_at: new Date(episode.startedAt).toISOString(),
      reset: episode.reset,
      start: start ? record(start) : { observation: {}, reward: null, done: false, ms: 0 },
      steps: played.map((step) => ({ action: step.action, ...record(step) })),
      total_reward: played.reduce((sum, { reward }) => sum + (reward ?? 0), 0),
      end: episode.status === "done" ? "done" : "policy",
    };
  });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** @throws TypeError that names the line and what is wrong with it. */
export function parseJsonl(text: string): Timeline {
  let timeline = EMPTY_TIMELINE;
  let found = 0;
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    found++;
    try {
      timeline = append(timeline, parseEpisode(line));
    } catch (error) {
      throw new TypeError(`Line ${at + 1} is no episode: ${(error as Error).message}.`);
    }
  }
  if (found === 0) throw new TypeError("The file has no episode: it is written by Export or by openenv collect.");
  return timeline;
}

function append(timeline: Timeline, { reset, start, steps, started_at }: EpisodeRecord): Timeline {
  const startedAt = Date.parse(started_at) || 0;
  let next = addReset(timeline, toStep("reset", { ...start, action: reset }, startedAt));
  for (const step of steps) next = addStep(next, toStep("step", step, 0));
  const last = next.episodes.at(-1);
  if (last?.status !== "in progress") return next;
  return { ...next, episodes: [...next.episodes.slice(0, -1), { ...last, status: "stopped" }] };
}

function toStep(
  kind: Step["kind"],
  { action, observation, reward, done, metadata, ms }: RecordedStep,
  at: number,
): NewStep {
  return {
    kind,
    action,
    observation,
    reward,
    done,
    metadata,
    ms,
    at,
    view: undefined,
    failure: undefined,
    exchange: undefined,
  };
}

function record({ observation, reward, done, metadata, ms }: Step): Omit<RecordedStep, "action"> {
  return { observation: observation ?? {}, reward, done, ...(metadata ? { metadata } : {}), ms };
}
