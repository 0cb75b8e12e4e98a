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
  start: Omit<RecordedStep, "action" | "text">;
  steps: RecordedStep[];
  /** Requests without an observation, in order; absent when there are none. The last one ended an episode that was lost. */
  failures?: RecordedFailure[];
  /** Sum of the rewards of all steps; null for an episode that was lost, which has no result. */
  total_reward: number | null;
  /**
   * Why the episode ended: the environment reported `done`, the step limit was reached, the policy stopped, or a request
   * had no result or the policy failed: the episode is `lost`.
   */
  end: "done" | "max_steps" | "policy" | "lost";
  /** What a model reads before the first observation: the description of the environment. */
  description?: string;
  /** The tools that a model may call, with their JSON Schemas. */
  tools?: EpisodeTool[];
}

/** A tool as chat models get it. */
export interface EpisodeTool {
  type: "function";
  function: { name: string; description: string; parameters: JsonObject };
}

/** An action and its result. */
export interface RecordedStep {
  action: JsonObject;
  /** What a language model wrote around the action. */
  text?: string;
  observation: JsonObject;
  reward: number | null;
  done: boolean;
  metadata?: JsonObject;
  /** Milliseconds from the request to its answer. */
  ms: number;
}

/** A reset or a step that failed, or for which the policy chose no action: it has no observation and no reward. */
export interface RecordedFailure {
  kind: "reset" | "step";
  /** The number of `steps` before it. */
  after: number;
  /** The action, or the options of the reset; empty when the policy failed. */
  action: JsonObject;
  /** A code from the table of errors. */
  code: string;
  message: string;
  /** True when the server counted it as a step because the environment ran but returned an invalid result. */
  counted?: boolean;
  ms: number;
}

/** Name and version of the format of a line. */
export const EPISODE_FORMAT = "openenv.episode/2";

/** Had no messages, and the members of TEXT_MEMBERS as JSON. */
const FIRST_FORMAT = "openenv.episode/1";

/** The members whose form depends on the environment. A line has them as JSON text, so that all lines have equal types. */
export const TEXT_MEMBERS = ["tools", "reset", "start", "steps", "failures"] as const;

const ENDS: readonly unknown[] = ["done", "max_steps", "policy", "lost"];

/** Parses one line, also of the first version of the format. @throws TypeError naming the invalid field. */
export function parseEpisode(line: string): EpisodeRecord {
  const value: unknown = parse(line);
  if (!isObject(value)) throw new TypeError("each line must be one JSON object");
  const format = value["format"];
  if (format === EPISODE_FORMAT) parseTexts(value);
  else if (format !== FIRST_FORMAT) {
    throw new TypeError(`"format" must be "${EPISODE_FORMAT}", not ${JSON.stringify(format)}`);
  }
  const { episode, environment, url, started_at, reset, start, steps, failures = [], total_reward, end } = value;
  const { description = "", tools = [] } = value;
  expect("episode", Number.isInteger(episode) && Number(episode) >= 0, "a non-negative integer");
  for (const [name, text] of Object.entries({ environment, url, started_at })) {
    expect(name, typeof text === "string", "a string");
  }
  expect("reset", isObject(reset), "an object");
  expectAnswer("start", start);
  expect("steps", Array.isArray(steps), "an array");
  for (const [index, step] of (steps as unknown[]).entries()) {
    expectAnswer(`steps[${index}]`, step);
    const { action, text } = step as JsonObject;
    expect(`steps[${index}].action`, isObject(action), "an object");
    expect(`steps[${index}].text`, text === undefined || typeof text === "string", "a string");
  }
  expect("failures", Array.isArray(failures), "an array");
  for (const [index, failure] of (failures as unknown[]).entries()) expectFailure(`failures[${index}]`, failure);
  expect("end", ENDS.includes(end), `one of ${ENDS.join(", ")}`);
  if (end === "lost") expect("total_reward", total_reward === null, "null, although the episode was lost");
  else expect("total_reward", typeof total_reward === "number", "a number");
  expect("description", typeof description === "string", "a string");
  expect("tools", Array.isArray(tools), "an array");
  for (const [index, tool] of (tools as unknown[]).entries()) expectTool(`tools[${index}]`, tool);
  const record = { format: EPISODE_FORMAT, episode, environment, url, started_at, reset, start, steps };
  const optional = {
    ...((failures as unknown[]).length > 0 && { failures }),
    ...(description !== "" && { description }),
    ...((tools as unknown[]).length > 0 && { tools }),
  };
  return { ...record, ...optional, total_reward, end } as unknown as EpisodeRecord;
}

function parseTexts(value: JsonObject): void {
  for (const name of TEXT_MEMBERS) {
    const text = value[name];
    if (text === undefined) continue;
    expect(name, typeof text === "string", "JSON text");
    try {
      value[name] = parse(text as string);
    } catch (cause) {
      throw new TypeError(`"${name}" is not JSON text: ${(cause as Error).message}`, { cause });
    }
  }
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

function expectTool(name: string, tool: unknown): void {
  const called = isObject(tool) ? tool["function"] : undefined;
  expect(`${name}.function`, isObject(called), "an object");
  const { name: own, description, parameters } = called as JsonObject;
  expect(`${name}.function.name`, typeof own === "string", "a string");
  expect(`${name}.function.description`, typeof description === "string", "a string");
  expect(`${name}.function.parameters`, isObject(parameters), "an object");
}

function expect(name: string, fits: boolean, what: string): void {
  if (!fits) throw new TypeError(`"${name}" is not ${what}`);
}
