import { toColumns } from "openenv-ts/internal";
import type { EpisodeRecord } from "openenv-ts/protocol";
import { type ColumnType, parquetWriter } from "./parquet.js";
import { jsonLines, type RowWriter } from "./row-file.js";
import { type EpisodeColumns, toTraces } from "./verifiers.js";

/** A row, or why there is none. */
export type Row = { row: Record<string, unknown> } | { dropped: string };

/** What an episode becomes. */
export interface Form {
  /** The default name of the output. */
  file: string;
  writer(): Promise<RowWriter>;
  /** Keeps failed episodes, whose outcome is in the row. */
  keepsFailed?: true;
  /** Called once for each file that is written; the function that it returns may remember what it has seen. */
  rows(): (record: EpisodeRecord, columns: EpisodeColumns) => Row;
}

const TEXT_COLUMNS = { environment: "string", group_id: "string" } as const;

export const FORMS: Record<"parquet" | "trl-sft" | "trl-grpo" | "verifiers", Form> = {
  parquet: {
    file: "episodes.parquet",
    keepsFailed: true,
    writer: () =>
      parquetWriter({
        format: "string",
        episode: "integer",
        group_id: "string",
        environment: "string",
        url: "string",
        started_at: "string",
        outcome: "string",
        end: "string",
        total_reward: "number",
        num_steps: "integer",
        description: "string",
        messages: "messages",
        tools: "string",
        reset: "string",
        start: "string",
        steps: "string",
        failures: "string",
      } satisfies Record<keyof EpisodeColumns, ColumnType>),
    rows: () => (_record, row) => ({ row }),
  },
  "trl-sft": {
    file: "sft.parquet",
    writer: () => {
      const chat = { messages: "json-list", tools: "string", tools_list: "json-list" } as const;
      return parquetWriter({ ...chat, ...TEXT_COLUMNS, total_reward: "number" });
    },
    rows:
      () =>
      (record, { environment, group_id, total_reward, messages }) => {
        if (record.steps.length === 0) return { dropped: NO_STEPS };
        const chat = { messages: chatOf(messages), tools: toolsOf(record), tools_list: record.tools ?? [] };
        return { row: { ...chat, environment, group_id, total_reward } };
      },
  },
  "trl-grpo": {
    file: "grpo.parquet",
    writer: () =>
      parquetWriter({
        prompt: "json-list",
        seed: "integer",
        split: "string",
        index: "integer",
        reset_options: "string",
        environment: "string",
      }),
    rows: () => {
      const seen = new Set<string>();
      return ({ environment, description = "", reset }, { group_id: start }) => {
        if (start === "") return { dropped: NO_START };
        if (seen.has(start)) return { dropped: "the start of an earlier episode" };
        seen.add(start);
        const { episode_id: _, ...options } = reset;
        const take = (name: string, fits: (value: unknown) => boolean): unknown => {
          const { [name]: value } = options;
          if (!fits(value)) return undefined;
          delete options[name];
          return value;
        };
        const seed = take("seed", Number.isSafeInteger);
        const split = take("split", (value) => typeof value === "string");
        const index = take("index", Number.isSafeInteger);
        const opening = description === "" ? "" : `${description}\n\n`;
        const row = { prompt: [{ role: "user", content: opening }], seed, split, index };
        return { row: { ...row, reset_options: JSON.stringify(options), environment } };
      };
    },
  },
  verifiers: {
    file: "traces.jsonl",
    writer: async () => jsonLines,
    rows: () => (record, columns) =>
      record.steps.length === 0 ? { dropped: NO_STEPS } : { row: toTraces(record, columns) },
  },
};

/** Why an episode is left out. */
export const NO_STEPS = "without steps";
export const NO_START = "without a seed or task";
export const FAILED = "failed";

export const PREFERENCE = {
  file: "preference.parquet",
  writer: () =>
    parquetWriter({
      prompt: "json-list",
      chosen: "json-list",
      rejected: "json-list",
      tools: "string",
      ...TEXT_COLUMNS,
      chosen_reward: "number",
      rejected_reward: "number",
    }),
};

/**
 * A row of two episodes. The prompt is their start, with all that follows compared; with `shared`, it is that number of
 * messages, and only the next action of each is compared.
 */
export function pairOf(chosen: EpisodeRecord, rejected: EpisodeRecord, shared?: number): Record<string, unknown> {
  const [best, worst] = [toColumns(chosen), toColumns(rejected)];
  const [from, to] = shared === undefined ? [1, undefined] : [shared, shared + 1];
  return {
    prompt: chatOf(best.messages.slice(0, from)),
    chosen: chatOf(best.messages.slice(from, to)),
    rejected: chatOf(worst.messages.slice(from, to)),
    tools: toolsOf(chosen),
    environment: chosen.environment,
    group_id: best.group_id,
    chosen_reward: chosen.total_reward,
    rejected_reward: rejected.total_reward,
  };
}

export function isFailed({ outcome }: EpisodeColumns): boolean {
  return outcome === "failed";
}

/** The messages for templates of chats, which want the arguments of a call as an object. */
function chatOf(messages: EpisodeColumns["messages"]): object[] {
  return messages.map((message) => {
    if (message.role !== "assistant") return message;
    const calls = message.tool_calls.map((call) => {
      const given: unknown = JSON.parse(call.function.arguments);
      return { ...call, function: { ...call.function, arguments: given } };
    });
    return { ...message, tool_calls: calls };
  });
}

function toolsOf({ tools = [] }: EpisodeRecord): string {
  return JSON.stringify(tools);
}
