import { isObject } from "openenv-ts/internal";
import { EPISODE_FORMAT, type EpisodeRecord, type JsonObject, type RecordedStep } from "openenv-ts/protocol";

/**
 * Reads an episode of `traces.jsonl` of the package `verifiers`: its first trace. Each call of a tool is a step, and the last
 * one has the reward. @throws TypeError that names what is missing.
 */
export function readTraces(value: JsonObject): EpisodeRecord {
  const [trace] = Array.isArray(value["traces"]) ? (value["traces"] as unknown[]) : [];
  if (!isObject(trace)) throw new TypeError('"traces" must have an object');
  const { nodes } = trace;
  if (!Array.isArray(nodes)) throw new TypeError('"traces[0].nodes" must be an array');
  const messages = nodes.map((node: unknown, index) => {
    const message = isObject(node) ? node["message"] : undefined;
    if (!isObject(message)) throw new TypeError(`"traces[0].nodes[${index}].message" must be an object`);
    return message;
  });
  const first = messages.find(({ role }) => role === "user");
  const task = objectAt(value, "task", "data");
  const steps = messages.flatMap((message, index) => toSteps(message, messages.slice(index + 1)));
  const reward = Object.values(objectAt(trace, "rewards")).reduce<number | null>((sum, one) => {
    const { score, weight = 1 } = isObject(one) ? one : {};
    return typeof score === "number" ? (sum ?? 0) + score * Number(weight) : sum;
  }, null);
  const last = steps.at(-1);
  if (last !== undefined) Object.assign(last, { reward, done: trace["stop_condition"] === "done" });
  const started = Number(objectAt(trace, "timing")["start"] ?? 0);
  const isLost = value["ok"] === false;
  return {
    format: EPISODE_FORMAT,
    episode: 0,
    environment: String(objectAt(value, "env")["id"] ?? "unknown"),
    url: "",
    started_at: new Date(started * 1000).toISOString(),
    reset: objectAt(task, "reset"),
    start: { observation: { text: String(first?.["content"] ?? "") }, reward: null, done: false, ms: 0 },
    steps,
    total_reward: isLost ? null : (reward ?? 0),
    end: isLost ? "lost" : last?.done === true ? "done" : "policy",
  };
}

function toSteps({ role, content, tool_calls: calls }: JsonObject, later: readonly JsonObject[]): RecordedStep[] {
  if (role !== "assistant") return [];
  const rest = {
    reward: null,
    done: false,
    ms: 0,
    ...(typeof content === "string" && content !== "" && { text: content }),
  };
  if (!Array.isArray(calls) || calls.length === 0) return [{ action: {}, observation: {}, ...rest }];
  return calls.filter(isObject).map(({ id, name, arguments: given }) => {
    const answer = later.find((message) => message["role"] === "tool" && message["tool_call_id"] === id);
    const action = { type: "call_tool", tool_name: name, arguments: readJson(given) };
    return { action, observation: { result: answer?.["content"] ?? null }, ...rest };
  });
}

function readJson(given: unknown): unknown {
  try {
    return typeof given === "string" ? JSON.parse(given) : (given ?? {});
  } catch {
    return { text: given };
  }
}

function objectAt(value: JsonObject, ...path: string[]): JsonObject {
  return path.reduce((at, name) => (isObject(at[name]) ? at[name] : {}), value);
}
