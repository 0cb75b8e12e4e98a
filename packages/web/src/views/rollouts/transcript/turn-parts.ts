import { isObject, isToolAction } from "openenv-ts/internal";
import type { JsonObject, RolloutEvent } from "openenv-ts/protocol";
import { inWords } from "../../../parts/text/format.js";
import { resultOf } from "../../../play/answer.js";
import { type Diff, diffValues } from "../../../play/diff.js";
import { withoutStandard } from "../../../play/summary.js";

/** What was said, done and returned in a step, each in the form in which it is read. */
export interface TurnParts {
  /** What an agent wrote about its action. */
  said: string[];
  /** The tool, `reset`, or the action itself where it is one short line. */
  title: string;
  /** Arguments of one short line, then the others. */
  short: [name: string, value: string][];
  long: [name: string, value: unknown][];
  /** The fields of the answer that are new or changed since the previous step. */
  result: [name: string, value: unknown][];
  /** The fields that are as they were. */
  same: [name: string, value: unknown][];
}

/** Names of fields in which agents write what they think. */
const SAID = /^(?:thoughts?|thinking|reasoning|rationale|analysis|plan|comment|explanation|say)$/i;
const MAX_SHORT = 60;

/** The parts of an event; an earlier one of the same episode, if it is known, has what is not new. */
export function partsOf(event: RolloutEvent, before: RolloutEvent | undefined): TurnParts {
  const { tool, type, request, answer } = event;
  const { metadata, ...action } = request ?? {};
  const isCall = tool !== null && isToolAction(action);
  const given = isCall && isObject(action["arguments"]) ? action["arguments"] : action;
  const isSaid = ([name, value]: [string, unknown]): boolean => SAID.test(name) && typeof value === "string";
  const isEmpty = ([, value]: [string, unknown]): boolean => typeof value === "string" && value.trim() === "";
  const about = isObject(metadata) ? Object.entries(metadata).filter(isSaid) : [];
  const entries = Object.entries(given);
  const said = [...about, ...entries.filter(isSaid)]
    .filter((entry) => !isEmpty(entry))
    .map(([, value]) => value as string);
  const args = entries.filter((entry) => !isSaid(entry));
  const [only] = args;
  const isOne = tool === null && type === "step" && args.length === 1 && only !== undefined && isShort(only[1]);
  const title = tool ?? (type === "reset" ? "reset" : isOne && only ? inWords(only[1]) : "step");
  const fields = Object.entries(tool === null ? withoutStandard(answer?.observation ?? {}) : toolResult(event));
  const earlier = tool === null ? (before?.answer?.observation ?? {}) : {};
  const isSame = ([name, value]: [string, unknown]): boolean =>
    Object.hasOwn(earlier, name) && isEqual(value, earlier[name]);
  return {
    said,
    title,
    short: isOne ? [] : args.filter(([, value]) => isShort(value)).map(([name, value]) => [name, inWords(value)]),
    long: args.filter(([, value]) => !isShort(value)),
    result: fields
      .filter((field) => !isSame(field))
      .map(([name, value]) => [name, Object.hasOwn(earlier, name) ? added(value, earlier[name]) : value]),
    same: fields.filter(isSame),
  };
}

/** What two events of two episodes, or of one, are compared by. Metadata describes how a step was served. */
export function comparable({ type, request, answer, error, tool }: RolloutEvent): JsonObject {
  const { metadata: _, episode_id: id, ...others } = request ?? {};
  // The id of an episode is its own.
  const action = type === "reset" || id === undefined ? others : { ...others, episode_id: id };
  return {
    action: request === null ? null : tool === null ? action : { tool, ...action },
    observation: answer === null ? null : withoutStandard(answer.observation),
    reward: answer?.reward ?? null,
    done: answer?.done ?? null,
    error: error?.message ?? null,
  };
}

export function diffEvents(a: RolloutEvent, b: RolloutEvent): Diff {
  return diffValues(comparable(a), comparable(b));
}

/** The data of a tool's result, once. */
function toolResult({ answer, error }: RolloutEvent): JsonObject {
  const observation = answer?.observation;
  if (observation === undefined) return {};
  const { result } = observation;
  if (isObject(result)) {
    const shown = resultOf(observation);
    const names = Object.keys(shown);
    return names.length > 0 || error !== null ? shown : result;
  }
  return result === undefined || result === null ? {} : { result };
}

/** The new part of a text that grows, or of a list that does. */
function added(value: unknown, before: unknown): unknown {
  if (typeof value === "string" && typeof before === "string") {
    return before !== "" && value.startsWith(before) ? value.slice(before.length).trimStart() : value;
  }
  if (!Array.isArray(value) || !Array.isArray(before) || before.length === 0 || before.length >= value.length) {
    return value;
  }
  return before.every((item, at) => isEqual(item, value[at])) ? value.slice(before.length) : value;
}

function isEqual(value: unknown, before: unknown): boolean {
  return diffValues(before, value).changes.length === 0;
}

function isShort(value: unknown): boolean {
  if (typeof value === "string") return value.length <= MAX_SHORT && !value.includes("\n");
  return typeof value !== "object" || value === null || (Array.isArray(value) && value.length === 0);
}
