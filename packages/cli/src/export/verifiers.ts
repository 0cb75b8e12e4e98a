import { createHash } from "node:crypto";
import type { toColumns } from "openenv-ts/internal";
import type { EpisodeRecord } from "openenv-ts/protocol";

/** An episode as a line of a file has it, with what follows from the record. */
export type EpisodeColumns = ReturnType<typeof toColumns>;

/** The episode as a line of `traces.jsonl`, which the package `verifiers` (0.4) reads: an episode with one trace. */
export function toTraces(
  record: EpisodeRecord,
  { group_id: group, messages, outcome }: EpisodeColumns,
): Record<string, unknown> {
  const { environment, end, reset, start, steps, started_at, total_reward, tools = [] } = record;
  const [first] = messages;
  const id = createHash("sha256").update(JSON.stringify(record)).digest("hex").slice(0, 32);
  const data = { name: group || environment, prompt: first?.content ?? null, reset };
  const task = { type: "OpenEnvTask", data };
  const begun = (Date.parse(started_at) || 0) / 1000;
  const ended = begun + [start, ...steps].reduce((sum, { ms }) => sum + ms, 0) / 1000;
  const offered = tools.map(({ function: called }) => called);
  const trace = {
    version: 1,
    id,
    task,
    agent: { config: {}, name: "agent" },
    tools: offered,
    nodes: messages.map((message, index) => ({
      parent: index === 0 ? null : index - 1,
      ...(index === 0 && { tools: offered }),
      message: toMessage(message),
      sampled: message.role === "assistant",
      timestamp: begun,
    })),
    rewards: { openenv_reward: { score: total_reward, weight: 1 } },
    is_completed: true,
    ok: true,
    stop_condition: end === "max_steps" ? "max_turns" : end,
    timing: { start: begun, agent: { start: begun, end: ended } },
  };
  const ok = outcome !== "failed";
  return {
    id,
    env: { id: environment },
    task,
    group: group === "" ? null : { id: group },
    ok,
    traces: [{ ...trace, ok }],
  };
}

/** A call has its name and arguments next to its id. */
function toMessage(message: EpisodeColumns["messages"][number]): object {
  if (message.role !== "assistant") return message;
  const calls = message.tool_calls.map(({ id, function: called }) => ({ id, ...called }));
  return { role: message.role, content: message.content, tool_calls: calls };
}
