import { isObject } from "../util/is-object.js";
import { parseJson, TooDeepError } from "./codec/json.js";
import type { JsonObject } from "./messages.js";

/** One line of a file of episodes; the page and `openenv collect` write it, and read it again. */
export interface EpisodeRecord {
  format: typeof EPISODE_FORMAT;
  /** Number of the episode in its collection: `collect` counts from 0 on, the page from 1 on. */
  episode: number;
  /** Name of the environment, and the server it was played on. */
  environment: string;
  url: string;
  /** ISO 8601, UTC. */
  started_at: string;
  /** What the reset was asked: seed, split, index, options of the environment. */
  reset: JsonObject;
  /** What the reset answered. */
  start: Omit<RecordedStep, "action">;
  steps: RecordedStep[];
  /** Requests of the episode that had no observation, in their order; the page writes them, absent without any. */
  failures?: RecordedFailure[];
  /** Sum of the rewards of all steps; a step without a reward adds nothing. */
  total_reward: number;
  /** Why it ended: the environment said so, the limit of steps was reached, or the policy gave up. */
  end: "done" | "max_steps" | "policy";
}

/** An action and what came of it. */
export interface RecordedStep {
  action: JsonObject;
  observation: JsonObject;
  reward: number | null;
  done: boolean;
  metadata?: JsonObject;
  /** Milliseconds from the request to its answer. */
  ms: number;
}

/** A reset or a step without a result: it has no reward. */
export interface RecordedFailure {
  kind: "reset" | "step";
  /** How many of `steps` came before it. */
  after: number;
  /** The action, or the options of the reset. */
  action: JsonObject;
  /** Of the table of errors. */
  code: string;
  message: string;
  /** The server counts it as a step: its result was invalid. */
  counted?: boolean;
  ms: number;
}

/** Names the schema of a line and its version. */
export const EPISODE_FORMAT = "openenv.episode/1";

const ENDS: readonly unknown[] = ["done", "max_steps", "policy"];

/** Reads one line. @throws TypeError that says what is wrong with it. */
export function parseEpisode(line: string): EpisodeRecord {
  const value: unknown = parse(line);
  if (!isObject(value)) throw new TypeError("an episode is one JSON object a line");
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
