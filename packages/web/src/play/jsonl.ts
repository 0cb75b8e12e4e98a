import {
  EPISODE_FORMAT,
  type EpisodeRecord,
  parseEpisode,
  type RecordedFailure,
  type RecordedStep,
  renderEpisode,
} from "openenv-ts/protocol";
import { readReward, unanswered } from "./answer.js";
import type { Imported } from "./play.js";
import { type NewStep, type PlayedEpisode, type Timeline, type TimelineStep, timelineOf } from "./timeline.js";

/** The environment and server of a timeline. */
export interface Source {
  environment: string;
  url: string;
}

/** More steps would exceed the height that a browser can scroll. */
const MAX_STEPS = 200_000;

/** The timeline in the format of `openenv collect`: one episode per line. Failed requests are in a separate list. */
export function renderJsonl({ episodes, steps }: Timeline, { environment, url }: Source): string {
  const byEpisode: TimelineStep[][] = episodes.map(() => []);
  for (const step of steps) byEpisode[step.episode]?.push(step);
  const lines = episodes.flatMap((episode): EpisodeRecord[] => {
    const own = byEpisode[episode.index] ?? [];
    if (own.length === 0) return [];
    const start = own.find(({ kind, observation }) => kind === "reset" && observation !== null);
    const played = own.filter(({ kind, observation }) => kind === "step" && observation !== null);
    const failures = failuresOf(own);
    const record: EpisodeRecord = {
      format: EPISODE_FORMAT,
      episode: episode.number,
      environment,
      url,
      started_at: new Date(episode.startedAt).toISOString(),
      reset: episode.reset,
      start: start ? answerOf(start) : { observation: {}, reward: null, done: false, ms: 0 },
      steps: played.map((step) => ({ action: step.action, ...answerOf(step) })),
      ...(failures.length > 0 ? { failures } : {}),
      total_reward: played.reduce((sum, { reward }) => sum + (Number.isFinite(reward) ? Number(reward) : 0), 0),
      end: episode.status === "done" ? "done" : "policy",
    };
    return [record];
  });
  return lines.map((line) => `${renderEpisode(line)}\n`).join("");
}

/** @throws TypeError with the line number and the problem. */
export function parseJsonl(text: string): Omit<Imported, "name"> {
  const played: PlayedEpisode[] = [];
  const environments = new Set<string>();
  let found = 0;
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const { environment, ...episode } = readLine(line, at + 1);
    environments.add(environment);
    found += 1 + episode.steps.length;
    if (found > MAX_STEPS) {
      throw new TypeError(`The file has more than ${MAX_STEPS.toLocaleString("en")} steps. Import a part of it.`);
    }
    played.push(episode);
  }
  if (found === 0)
    throw new TypeError("The file contains no episode. Choose a file written by Export or by openenv collect.");
  return { timeline: timelineOf(played), environments: [...environments] };
}

function readLine(line: string, number: number): PlayedEpisode & { environment: string } {
  try {
    const { episode, environment, reset, start, steps, failures = [], started_at } = parseEpisode(line);
    const failuresAfter = (taken: number): NewStep[] =>
      failures.filter(({ after }) => Math.min(after, steps.length) === taken).map(toFailedStep);
    return {
      number: episode,
      environment,
      reset: toStep("reset", { ...start, action: reset }, Date.parse(started_at) || 0),
      steps: [
        ...failuresAfter(0),
        ...steps.flatMap((step, index) => [toStep("step", step, 0), ...failuresAfter(index + 1)]),
      ],
    };
  } catch (error) {
    throw new TypeError(`Line ${number} is not a valid episode: ${(error as Error).message}.`);
  }
}

function toStep(
  kind: TimelineStep["kind"],
  { action, observation, reward, done, metadata, ms }: RecordedStep,
  at: number,
): NewStep {
  return {
    kind,
    action,
    observation,
    reward: readReward(reward, metadata),
    done,
    metadata,
    ms,
    at,
    view: undefined,
    failure: undefined,
    counted: true,
    exchange: undefined,
  };
}

function failuresOf(own: readonly TimelineStep[]): RecordedFailure[] {
  const failures: RecordedFailure[] = [];
  let after = 0;
  for (const { kind, action, failure, counted, ms } of own) {
    if (failure) {
      const { code, message } = failure;
      failures.push({ kind, after, action, code, message, ...(counted ? { counted } : {}), ms });
    } else if (kind === "step") after++;
  }
  return failures;
}

function toFailedStep({ kind, action, counted = false, ...rest }: RecordedFailure): NewStep {
  return { ...unanswered(kind, action, rest), counted, at: 0 };
}

function answerOf({ observation, reward, done, metadata, ms }: TimelineStep): Omit<RecordedStep, "action"> {
  return { observation: observation ?? {}, reward, done, ...(metadata ? { metadata } : {}), ms };
}
