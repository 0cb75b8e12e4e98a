import type { ValidationIssue } from "openenv-ts";
import { isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { inWords } from "../parts/text/format.js";
import type { RoundTrip } from "../server/server-socket.js";
import type { NewStep, StepFailure } from "./timeline.js";

/** Reads the response to a reset or a step. */
export function readAnswer(kind: "reset" | "step", action: JsonObject, exchange: RoundTrip): NewStep {
  const { received, ms } = exchange;
  const { observation, reward, done, metadata } = received.data;
  const failed = received.type === "error";
  return {
    kind,
    action,
    observation: !failed && isObject(observation) ? observation : null,
    reward: failed ? null : readReward(reward, metadata),
    done: !failed && done === true,
    metadata: isObject(metadata) ? metadata : undefined,
    view: received.view,
    failure: failed ? readFailure(received.data, kind === "reset" ? "data" : undefined) : undefined,
    counted: !failed,
    ms,
    at: Date.now(),
    exchange,
  };
}

/** The content of an error frame; the paths of its issues are relative to `root`. */
export function readFailure(data: JsonObject, root?: string): StepFailure {
  const { code, message, errors } = data;
  const issues = Array.isArray(errors) ? (errors as ValidationIssue[]) : [];
  return {
    code: inWords(code),
    message: typeof message === "string" ? message : "The server gave no reason.",
    issues: issues.map((issue) => (issue.loc[0] === root ? { ...issue, loc: issue.loc.slice(1) } : issue)),
  };
}

/** A request without a response. */
export function unanswered(kind: "reset" | "step", action: JsonObject, { code, message, ms }: NoAnswer): NewStep {
  return {
    kind,
    action,
    observation: null,
    reward: null,
    done: false,
    metadata: undefined,
    view: undefined,
    failure: { code, message, issues: [] },
    counted: false,
    ms,
    at: Date.now(),
    exchange: undefined,
  };
}

interface NoAnswer {
  code: string;
  message: string;
  ms: number;
}

/** The error of a tool call in a step; undefined for a successful call or another action. */
export function toolErrorOf(observation: JsonObject | null): { type: string; message: string } | undefined {
  if (observation === null || !("tool_name" in observation)) return undefined;
  const error = observation["error"];
  if (isObject(error)) return { type: inWords(error["error_type"]), message: inWords(error["message"]) };
  const result = observation["result"];
  if (isObject(result) && result["is_error"] === true)
    return { type: "tool_error", message: "The tool reported a failure" };
  return undefined;
}

const WRAPPED = '{"fastmcp":{"wrap_result":true}}';

/**
 * Shows the data once: the text and the structured content of a tool mostly repeat it. The raw frames have everything.
 */
export function resultOf(observation: JsonObject): JsonObject {
  const { result } = observation;
  if (!isObject(result)) return {};
  const { content, data, structured_content: structured, is_error: _, meta, ...others } = result;
  const [only, ...more] = Array.isArray(content) ? content : [];
  const text = more.length === 0 && isObject(only) && only["type"] === "text" ? only["text"] : content;
  const json = JSON.stringify(data ?? structured ?? null);
  const isText = json === "null" || text === data || text !== json;
  const isAgain = [json, JSON.stringify({ result: data })].includes(JSON.stringify(structured));
  const shown = {
    ...(isText ? { content: text } : {}),
    ...(isText && text === data ? {} : { data }),
    ...(isAgain ? {} : { structured_content: structured }),
    // Key under which an MCP client finds the data one level deeper.
    ...(JSON.stringify(meta) === WRAPPED ? {} : { meta }),
    ...others,
  };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== null && value !== undefined));
}

/** JSON has no NaN and no infinities; `metadata.openenv.reward` has them as strings. */
export function readReward(reward: unknown, metadata: unknown): number | null {
  const extension = isObject(metadata) ? metadata["openenv"] : undefined;
  const named = isObject(extension) ? extension["reward"] : undefined;
  if (reward === null && NOT_FINITE.includes(named)) return Number(named);
  if (typeof reward === "boolean") return Number(reward);
  return typeof reward === "number" ? reward : null;
}

const NOT_FINITE: readonly unknown[] = ["NaN", "Infinity", "-Infinity"];
