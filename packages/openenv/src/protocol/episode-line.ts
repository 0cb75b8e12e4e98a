import { isObject } from "../util/is-object.js";
import { toActionCall } from "./action-tools.js";
import { type EpisodeRecord, TEXT_MEMBERS } from "./episode.js";
import type { JsonObject } from "./messages.js";
import { isToolAction } from "./tools.js";

/** A message of a chat, as OpenAI's API has it. */
export type EpisodeMessage =
  | { role: "user"; content: string }
  | { role: "assistant"; content: string; tool_calls: EpisodeToolCall[] }
  | { role: "tool"; content: string; tool_call_id: string; name: string };

export interface EpisodeToolCall {
  id: string;
  type: "function";
  /** `arguments` are JSON text. */
  function: { name: string; arguments: string };
}

/** The end of an episode: by the world, by something else, or because a request of it failed. */
export type EpisodeOutcome = "terminated" | "truncated" | "failed";

/**
 * Renders a record as one line, without the newline. The members have the same types in every line, so that files of
 * several environments load together: `reset`, `start`, `steps`, `failures` and `tools` are JSON text, and rewards have a
 * decimal point.
 */
export function renderEpisode(record: EpisodeRecord): string {
  const members = Object.entries(toColumns(record)).map(([name, value]) => {
    const text = name === "total_reward" ? renderFloat(value as number | null) : JSON.stringify(value);
    return `${JSON.stringify(name)}:${text}`;
  });
  return `{${members.join(",")}}`;
}

/** The members of a line, in order. `group_id`, `outcome`, `num_steps` and `messages` follow from the others. */
export function toColumns(record: EpisodeRecord) {
  const { format, episode, environment, url, started_at, steps, total_reward, end, description = "" } = record;
  const texts = TEXT_MEMBERS.map((name) => [name, JSON.stringify(record[name] ?? [])]);
  return {
    format,
    episode,
    group_id: groupOf(record),
    environment,
    url,
    started_at,
    outcome: outcomeOf(record),
    end,
    total_reward,
    num_steps: steps.length,
    description,
    messages: messagesOf(record),
    ...(Object.fromEntries(texts) as Record<(typeof TEXT_MEMBERS)[number], string>),
  };
}

/**
 * What episodes that started equally have in common: the environment and the options of the reset. Empty without a seed
 * and a task, because their starts may differ.
 */
export function groupOf({ environment, reset }: Pick<EpisodeRecord, "environment" | "reset">): string {
  const { episode_id: _, ...options } = reset;
  if (options["seed"] == null && options["index"] == null) return "";
  return `${environment} ${JSON.stringify(sortKeys(options))}`;
}

/** Invalid actions are harmless unless they end the episode; any other failure left a gap in it. */
export function outcomeOf({ end, failures = [] }: Pick<EpisodeRecord, "end" | "failures">): EpisodeOutcome {
  if (end === "lost" || failures.some(({ code }) => code !== "VALIDATION_ERROR")) return "failed";
  return end === "done" ? "terminated" : "truncated";
}

/** The episode as a chat: each action is a call of a tool, each observation its result. */
export function messagesOf({ description = "", start, steps, tools = [] }: EpisodeRecord): EpisodeMessage[] {
  const first = [description, renderObservation(start.observation)].filter(Boolean).join("\n\n");
  const turns = steps.flatMap(({ action, text = "", observation }, index): EpisodeMessage[] => {
    const id = `call_${index}`;
    const { name, given, isCall } = readAction(action, tools);
    const call: EpisodeToolCall = { id, type: "function", function: { name, arguments: JSON.stringify(given) } };
    const content = isCall ? renderToolResult(observation) : renderObservation(observation);
    return [
      { role: "assistant", content: text, tool_calls: [call] },
      { role: "tool", content, tool_call_id: id, name },
    ];
  });
  return [{ role: "user", content: first }, ...turns];
}

function readAction(
  action: JsonObject,
  tools: NonNullable<EpisodeRecord["tools"]>,
): { name: string; given: unknown; isCall: boolean } {
  const { metadata: _, ...fields } = action;
  if (!isToolAction(action)) {
    const offered = tools.map(({ function: { name, parameters } }) => ({ name, input_schema: parameters }));
    return { ...toActionCall(fields, offered), isCall: false };
  }
  const { type, tool_name, arguments: given = {} } = action;
  // A file may have any value here.
  return { name: renderValue(type === "call_tool" ? tool_name : type), given, isCall: type === "call_tool" };
}

/** The only field of an observation if that is a string, else JSON. */
function renderObservation({ metadata: _, ...fields }: JsonObject): string {
  const [only, ...more] = Object.values(fields);
  return typeof only === "string" && more.length === 0 ? only : JSON.stringify(fields);
}

function renderToolResult({ error, result }: JsonObject): string {
  if (isObject(error)) return JSON.stringify({ error: error["message"] ?? "the call failed" });
  if (!isObject(result) || !("data" in result)) return renderValue(result);
  const { content, data } = result;
  const texts = Array.isArray(content) ? content.filter(isObject).map(({ text }) => text) : [];
  return (texts.length > 0 ? texts : [data])
    .filter((one) => one != null)
    .map(renderValue)
    .join("\n");
}

function renderValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

/** Without a decimal point, readers that infer types take a number for an integer. */
function renderFloat(value: number | null): string {
  const text = JSON.stringify(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sortKeys(inner)]),
  );
}
