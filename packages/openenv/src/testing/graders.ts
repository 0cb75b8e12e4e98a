import { runInNewContext } from "node:vm";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";
import type { RecordedCall } from "./collect-episode.js";
import { firstDifference } from "./first-difference.js";
import { show } from "./report.js";

/** Each grader says what an episode shows that was not promised: one sentence a problem, none when all is well. */

/** A schema of somebody else may hold a pattern that never ends. */
const SCHEMA_MS = 5_000;

/** Rewards of steps are finite numbers, within `range` where one is declared; a reset may have none. */
export function rewardProblems(exchanges: readonly RecordedCall[], range?: readonly [number, number]): string[] {
  const [low, high] = range ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  return walk(exchanges).flatMap(({ where, operation, data }) => {
    if (operation === "state") return [];
    if (!("reward" in data)) return [`${where} has no reward`];
    const { reward } = data;
    if (operation === "reset" && reward === null) return [];
    if (typeof reward !== "number" || !Number.isFinite(reward)) return [`${where} gave the reward ${show(reward)}`];
    if (reward < low || reward > high) return [`${where} gave the reward ${reward}, outside ${low} to ${high}`];
    return [];
  });
}

/** Observations have an object, a boolean `done` and a `reward`, and fit what `GET /schema` publishes; so do states. */
export function schemaProblems(exchanges: readonly RecordedCall[], schema: JsonObject): string[] {
  const { observation, reset_observation = observation, state } = schema;
  if (!isObject(observation)) return ["GET /schema tells no object `observation`"];
  const check = (): string[] => {
    const fits = {
      reset: compile("reset_observation", reset_observation),
      step: compile("observation", observation),
      state: compile("state", isObject(state) ? state : {}),
    };
    return walk(exchanges).flatMap(({ where, operation, data }) => {
      const seen = operation === "state" ? data : wholeObservation(data);
      if (seen === undefined) return [`${where} needs an object \`observation\`, a boolean \`done\` and a \`reward\``];
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

/** The state names the episode as the reset did, and counts its steps. */
export function stateProblems(exchanges: readonly RecordedCall[]): string[] {
  const problems: string[] = [];
  let [episode, steps]: [unknown, number] = [null, 0];
  for (const { where, operation, request, data } of walk(exchanges)) {
    if (operation === "reset") [episode, steps] = [request["episode_id"], 0];
    else if (operation === "step") steps++;
    else {
      const { episode_id, step_count } = data;
      if (episode_id !== episode) {
        problems.push(`${where} names the episode ${show(episode_id)} instead of ${show(episode)}`);
      }
      if (step_count !== steps) problems.push(`${where} has the step_count ${show(step_count)} after ${steps} steps`);
    }
  }
  return problems;
}

/** Metadata are an object wherever they are, and the same beside the observation as in it. */
export function metadataProblems(exchanges: readonly RecordedCall[]): string[] {
  return walk(exchanges).flatMap(({ where, operation, data }) => {
    if (operation === "state") return [];
    const { metadata: outer = {}, observation } = data;
    const inner = isObject(observation) ? (observation["metadata"] ?? {}) : {};
    for (const found of [outer, inner]) if (!isObject(found)) return [`${where} has the metadata ${show(found)}`];
    const difference = "metadata" in data && firstDifference(inner, outer);
    return difference ? [`${where} has other metadata in the observation than beside it: ${difference}`] : [];
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
    throw new Error(`the published schema \`${name}\` is none: ${(error as Error).message}`);
  }
}

function describeErrors({ errors }: ValidateFunction): string {
  const [first] = errors ?? [];
  const { additionalProperty } = (first?.params ?? {}) as { additionalProperty?: string };
  const field = first?.instancePath.slice(1).replaceAll("/", ".") || "(root)";
  return `breaks the schema in ${field}: ${first?.message}${additionalProperty ? ` (${additionalProperty})` : ""}`;
}

/** Names each exchange as a reader counts: `reset`, `step 2`, `the state after step 2`. */
function walk(exchanges: readonly RecordedCall[]): (RecordedCall & { where: string })[] {
  let [at, steps] = ["reset", 0];
  return exchanges.map((exchange) => {
    if (exchange.operation === "state") return { ...exchange, where: `the state after ${at}` };
    if (exchange.operation === "reset") [at, steps] = ["reset", 0];
    else at = `step ${++steps}`;
    return { ...exchange, where: at };
  });
}
