import type { Fault } from "../faults.js";
import type { JsonObject } from "./messages.js";
import type { RolloutOutcome, RolloutQueryError } from "./rollout-query.js";
import type { View } from "./web.js";

/** A failure that several episodes may have: its key is that of its code or tool and of its message without numbers and names. */
export interface RolloutError {
  /** The query `error:KEY` finds its episodes. */
  key: string;
  /** The code or the tool, then the message without its numbers and quoted names. */
  text: string;
  fault: Fault;
}

/** One step in the strip of an episode. */
export interface StripStep {
  /** The reward; the sum where one entry stands for several steps. */
  r: number | null;
  /** 1: the environment or a tool refused or failed. */
  x: 0 | 1;
}

/** An episode in the table. */
export interface EpisodeRow {
  /** A public random name, which is neither the id of the session nor that of the episode. */
  id: string;
  /** Episodes of one group started equally: a name of the trainer, else one of the environment, seed and task. */
  group: string | null;
  task: string | null;
  split: string | null;
  seed: number | null;
  run: string | null;
  /** The step of the policy that played it. */
  policy: number | null;
  labels: Record<string, string>;
  env: string;
  /** The version of the contract. */
  version: string;
  outcome: RolloutOutcome;
  error: RolloutError | null;
  steps: number;
  /** The sum of the rewards; null for an episode without one, and for one that failed. */
  reward: number | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Milliseconds; until now for an episode that runs. */
  duration: number;
  /** What it came to, in a few words. */
  note: string;
  /** At most 64 entries. */
  strip: StripStep[];
  /** The address in the page. */
  link: string;
  /** The episode of which it is a copy, and the step after which the copy was made. */
  parent: { id: string; step: number } | null;
}

/** Episodes that started equally. */
export interface GroupRow {
  group: string;
  run: string | null;
  policy: number | null;
  task: string | null;
  /** At most 256; `count` has the number of all. */
  episodes: { id: string; reward: number | null; outcome: RolloutOutcome; matches: boolean }[];
  /** The mean of the rewards; null without any. */
  mean: number | null;
  /** The standard deviation of the rewards; null without any. */
  deviation: number | null;
  /** All rewards are equal: a trainer that compares them learns nothing. */
  noSignal: boolean;
  count: number;
}

/** Episodes that failed in the same way. */
export interface FailureRow {
  key: string;
  text: string;
  code: string;
  tool: string | null;
  fault: Fault;
  count: number;
  /** Its part of the episodes that match, 0 to 1. */
  share: number;
  /** The id of the newest of them. */
  newest: string;
}

export interface RolloutHistogram {
  min: number;
  max: number;
  /** 24, or fewer where there are fewer values. Each but the last is without its upper end. */
  bins: { from: number; to: number; all: number; matching: number }[];
}

/** `GET /rollouts`. */
export interface RolloutPage<Row = EpisodeRow | GroupRow | FailureRow> {
  rows: Row[];
  /** The value of `after=` for the next page; null at the end. */
  next: string | null;
  /** The number of rows that match. */
  total: number;
  query: { errors: RolloutQueryError[] };
}

/** `GET /rollouts/facets`. */
export interface RolloutFacets {
  /** All episodes of the store. */
  total: number;
  matching: number;
  /** Null without values. */
  reward: RolloutHistogram | null;
  steps: RolloutHistogram | null;
  /** Milliseconds. */
  duration: RolloutHistogram | null;
  outcomes: Record<RolloutOutcome, { all: number; matching: number }>;
  /** The 20 that most episodes have. */
  failures: FailureRow[];
  /** The 20 newest. */
  runs: { run: string; count: number; newestAt: number }[];
}

/** A reset, step or tool call that reached the environment. */
export interface RolloutEvent {
  /** From 0, the reset. */
  event: number;
  type: "reset" | "step" | "tool";
  /** Milliseconds since the start of the episode, at which the request began. */
  at: number;
  /** Milliseconds from the request to its answer. */
  ms: number;
  /** The options of the reset, the action, or the arguments of the tool; null when contents are off. */
  request: JsonObject | null;
  /** Null for an error, and when contents are off. A tool call has `observation: { result }`. */
  answer: { observation: JsonObject; reward: number | null; done: boolean; metadata?: JsonObject } | null;
  reward: number | null;
  /** The named parts of the reward. */
  components: Record<string, number> | null;
  tool: string | null;
  error: { code: string; message: string; fault: Fault } | null;
  view: View | null;
  /** The number of an earlier event with the same request; null without one. */
  sameAs: number | null;
}

/** `GET /rollouts/<id>`, with `?from=&limit=` for a part of the events. */
export interface RolloutDetail {
  episode: EpisodeRow;
  /** The sums of the named parts of the reward. */
  components: Record<string, number>;
  /** The options of the reset. */
  reset: JsonObject;
  events: RolloutEvent[];
  /** The number of all events. */
  eventCount: number;
  /** False while it runs, and for an episode of which the recording lost a part. */
  complete: boolean;
  /** The number of episodes of the run that have the same error. */
  similar: number;
}

/** A message of `GET /rollouts/live`, at most one a second. */
export interface RolloutLive {
  /** Milliseconds since 1970. */
  at: number;
  /** Episodes that began and ended since the last message; 0 in the first one. */
  added: number;
  ended: number;
  running: number;
  stuck: number;
  total: number;
  outcomes: Record<RolloutOutcome, number>;
  /** Episodes that have changed: at most 200 that run, stuck ones first, and 500 that have ended; others follow later. */
  rows: EpisodeRow[];
}

/** `GET /rollouts/sessions/<handle>`. */
export interface RolloutSession {
  /** The newest first. */
  episodes: string[];
  /** The session is open. */
  live: boolean;
}

/** Two episodes with the same start, of which someone has preferred one. By their public names. */
export interface PreferencePair {
  chosen: string;
  rejected: string;
  /** Milliseconds since 1970. */
  savedAt: number;
}

/** What a step is worth: the rewards of forks that were made after it and played to their end. */
export interface ForkValue {
  /** The forks are made after this step; 0 is after the reset. */
  step: number;
  /** What chose their actions: `random`, `recorded` or `model`. */
  policy: string;
  /** The forks that count. */
  count: number;
  /** Those that failed through no fault of the policy: they count for nothing. */
  lost: number;
  /** The mean of the total rewards of the forks; null if none counts. */
  mean: number | null;
  /** The interval of 95 %; null with fewer than two. */
  low: number | null;
  high: number | null;
}
