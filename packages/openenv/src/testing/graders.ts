import { runInNewContext } from "node:vm";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { JsonObject } from "../protocol/messages.js";
import { firstDifference } from "../util/first-difference.js";
import { isObject } from "../util/is-object.js";
import type { RecordedCall } from "./collect-episode.js";
import { show } from "./report.js";

/** Each grader returns the problems of an episode, one sentence each. */

/** The time limit of a validation: a foreign schema may contain a pattern with endless backtracking. */
const SCHEMA_MS = 5_000;

/** Checks that rewards of steps are finite numbers, within `range` if given; the reward of a reset may be null. */
export function rewardProblems(exchanges: readonly RecordedCall[], range?: readonly [number, number]): string[] {
  const [low, high] = range ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  return walk(exchanges).flatMap(({ where, operation, data }) => {
    if (operation === "state") return [];
    if (!("reward" in data)) return [`${where} has no reward`];
    const { reward } = data;
    if (operation === "reset" && reward === null) return [];
    if (typeof reward !== "number" || !Number.isFinite(reward))
      return [`${where} returned the reward ${show(reward)}, expected a finite number`];
    if (reward < low || reward > high) return [`${where} returned the reward ${reward}, expected ${low} to ${high}`];
    return [];
  });
}

/** Checks that results have an object `observation`, a boolean `done` and a `reward`, and match the schemas. */
export function schemaProblems(exchanges: readonly RecordedCall[], schema: JsonObject): string[] {
  const { observation, reset_observation = observation, state } = schema;
  if (!isObject(observation)) return ["GET /schema returned no object `observation`"];
  const check = (): string[] => {
    const fits = {
      reset: compile("reset_observation", reset_observation),
      step: compile("observation", observation),
      state: compile("state", isObject(state) ? state : {}),
    };
    return walk(exchanges).flatMap(({ where, operation, data }) => {
      const seen = operation === "state" ? data : wholeObservation(data);
      if (seen === undefined)
        return [`${where} must have an object \`observation\`, a boolean \`done\` and a \`reward\``];
      const fit = fits[operation];
      return fit(seen) ? [] : [`${where} ${describeErrors(fit)}`];
    });
  };
  try {
    return runInNewContext("check()", { check }, { timeout: SCHEMA_MS }) as string[];
  } catch (error) {
    return [(error as Error).message];
  }
}

/** Checks that the state has the episode id of the reset, and counts its steps. */
export function stateProblems(exchanges: readonly RecordedCall[]): string[] {
  const problems: string[] = [];
  let [episode, steps]: [unknown, number] = [null, 0];
  for (const { where, operation, request, data } of walk(exchanges)) {
    if (operation === "reset") [episode, steps] = [request["episode_id"], 0];
    else if (operation === "step") steps++;
    else {
      const { episode_id, step_count } = data;
      if (episode_id !== episode) {
        problems.push(`${where} has the episode_id ${show(episode_id)}, expected ${show(episode)}`);
      }
      if (step_count !== steps) problems.push(`${where} has the step_count ${show(step_count)}, expected ${steps}`);
    }
  }
  return problems;
}

/** Checks that metadata is an object, and the same in the observation as next to it. */
export function metadataProblems(exchanges: readonly RecordedCall[]): string[] {
  return walk(exchanges).flatMap(({ where, operation, data }) => {
    if (operation === "state") return [];
    const { metadata: outer = {}, observation } = data;
    const inner = isObject(observation) ? (observation["metadata"] ?? {}) : {};
    for (const found of [outer, inner])
      if (!isObject(found)) return [`${where} has the metadata ${show(found)}, expected an object`];
    const difference = "metadata" in data && firstDifference(inner, outer);
    return difference ? [`${where} has different metadata in the observation and next to it: ${difference}`] : [];
  });
}

function wholeObservation({ observation, done, ...rest }: JsonObject): JsonObject | undefined {
  if (!isObject(observation) || typeof done !== "boolean" || !("reward" in rest)) return undefined;
  return { ...observation, reward: rest["reward"], done };
}

function compile(name: string, schema: unknown): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
  try {
    return ajv.compile(schema as JsonObject);
  } catch (error) {
    throw new Error(`the published schema \`${name}\` is invalid: ${(error as Error).message}`);
  }
}

function describeErrors({ errors }: ValidateFunction): string {
  const [first] = errors ?? [];
  const { additionalProperty } = (first?.params ?? {}) as { additionalProperty?: string };
  const field = first?.instancePath.slice(1).replaceAll("/", ".") || "(root)";
  return `violates the schema in ${field}: ${first?.message}${additionalProperty ? ` (${additionalProperty})` : ""}`;
}

/** Names each call for messages: `reset`, `step 2`, `the state after step 2`. */
function walk(exchanges: readonly RecordedCall[]): (RecordedCall & { where: string })[] {
  let [at, steps] = ["reset", 0];
  return exchanges.map((exchange) => {
    if (exchange.operation === "state") return { ...exchange, where: `the state after ${at}` };
    if (exchange.operation === "reset") [at, steps] = ["reset", 0];
    else at = `step ${++steps}`;
    return { ...exchange, where: at };
  });
}
