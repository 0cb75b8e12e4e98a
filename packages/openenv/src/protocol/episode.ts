import { isObject } from "../util/is-object.js";
import { parseJson, TooDeepError } from "./codec/json.js";
import type { JsonObject } from "./messages.js";

/** One line of an episode file, written and read by the page and by `openenv collect`. */
export interface EpisodeRecord {
  format: typeof EPISODE_FORMAT;
  /** Number of the episode in its collection: `collect` counts from 0, the page from 1. */
  episode: number;
  /** Name of the environment. */
  environment: string;
  url: string;
  /** ISO 8601, UTC. */
  started_at: string;
  /** The options of the reset: seed, split, index, options of the environment. */
  reset: JsonObject;
  /** The result of the reset. */
  start: Omit<RecordedStep, "action">;
  steps: RecordedStep[];
  /** Requests without an observation, in order; written by the page, absent when there are none. */
  failures?: RecordedFailure[];
  /** Sum of the rewards of all steps. */
  total_reward: number;
  /** Why the episode ended: the environment reported `done`, the step limit was reached, or the policy stopped. */
  end: "done" | "max_steps" | "policy";
}

/** An action and its result. */
export interface RecordedStep {
  action: JsonObject;
  observation: JsonObject;
  reward: number | null;
  done: boolean;
  metadata?: JsonObject;
  /** Milliseconds from the request to its answer. */
  ms: number;
}

/** A reset or a step that failed: it has no observation and no reward. */
export interface RecordedFailure {
  kind: "reset" | "step";
  /** The number of `steps` before it. */
  after: number;
  /** The action, or the options of the reset. */
  action: JsonObject;
  /** A code from the table of errors. */
  code: string;
  message: string;
  /** True when the server counted it as a step because the environment ran but returned an invalid result. */
  counted?: boolean;
  ms: number;
}

/** Name and version of the format of a line. */
export const EPISODE_FORMAT = "openenv.episode/1";

const ENDS: readonly unknown[] = ["done", "max_steps", "policy"];

/** Parses one line. @throws TypeError naming the invalid field. */
export function parseEpisode(line: string): EpisodeRecord {
  const value: unknown = parse(line);
  if (!isObject(value)) throw new TypeError("each line must be one JSON object");
  if (value["format"] !== EPISODE_FORMAT) {
    throw new TypeError(`"format" must be "${EPISODE_FORMAT}", not ${JSON.stringify(value["format"])}`);
  }
  const { episode, environment, url, started_at, reset, start, steps, failures = [], total_reward, end } = value;
  expect("episode", Number.isInteger(episode) && Number(episode) >= 0, "a non-negative integer");
  for (const [name, text] of Object.entries({ environment, url, started_at })) {
    expect(name, typeof text === "string", "a string");
  }
  expect("reset", isObject(reset), "an object");
  expectAnswer("start", start);
  expect("steps", Array.isArray(steps), "an array");
  for (const [index, step] of (steps as unknown[]).entries()) {
    expectAnswer(`steps[${index}]`, step);
    expect(`steps[${index}].action`, isObject((step as JsonObject)["action"]), "an object");
  }
  expect("failures", Array.isArray(failures), "an array");
  for (const [index, failure] of (failures as unknown[]).entries()) expectFailure(`failures[${index}]`, failure);
  expect("total_reward", typeof total_reward === "number", "a number");
  expect("end", ENDS.includes(end), `one of ${ENDS.join(", ")}`);
  return value as unknown as EpisodeRecord;
}

function parse(line: string): unknown {
  try {
    return parseJson(line);
  } catch (cause) {
    throw new TypeError(cause instanceof TooDeepError ? `it is ${cause.message}` : "it is not valid JSON", { cause });
  }
}

function expectAnswer(name: string, answer: unknown): void {
  expect(name, isObject(answer), "an object");
  const { observation, reward, done, metadata, ms } = answer as JsonObject;
  expect(`${name}.observation`, isObject(observation), "an object");
  expect(`${name}.reward`, reward === null || typeof reward === "number", "a number or null");
  expect(`${name}.done`, typeof done === "boolean", "a boolean");
  expect(`${name}.metadata`, metadata === undefined || isObject(metadata), "an object");
  expect(`${name}.ms`, typeof ms === "number", "a number");
}

function expectFailure(name: string, failure: unknown): void {
  expect(name, isObject(failure), "an object");
  const { kind, after, action, code, message, counted, ms } = failure as JsonObject;
  expect(`${name}.kind`, kind === "reset" || kind === "step", "reset or step");
  expect(`${name}.after`, Number.isInteger(after) && Number(after) >= 0, "a non-negative integer");
  expect(`${name}.action`, isObject(action), "an object");
  expect(`${name}.code`, typeof code === "string", "a string");
  expect(`${name}.message`, typeof message === "string", "a string");
  expect(`${name}.counted`, counted === undefined || typeof counted === "boolean", "a boolean");
  expect(`${name}.ms`, typeof ms === "number", "a number");
}

function expect(name: string, fits: boolean, what: string): void {
  if (!fits) throw new TypeError(`"${name}" is not ${what}`);
}
