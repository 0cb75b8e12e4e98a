import { ConnectionError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import type { HttpClient } from "./transport/http.js";

/** A split of the tasks, as `splits()` returns it. */
export interface TaskSplitInfo extends JsonObject {
  name: string;
  type: string;
}

/**
 * The tasks of an environment, without a session. A task is played with `reset({ split, index })`.
 * Every method rejects with RemoteError TASKS_NOT_SUPPORTED when the environment does not support it.
 */
export interface TaskClient {
  splits(): Promise<TaskSplitInfo[]>;
  list(split: string): Promise<JsonObject[]>;
  count(split: string): Promise<number>;
  /** @throws RemoteError REQUEST_FAILED (`details.status` 400) when the index is outside the split. */
  get(split: string, index: number): Promise<JsonObject>;
  /** Returns a slice: `stop` is exclusive, negative numbers count from the end. */
  range(split: string, start?: number, stop?: number): Promise<JsonObject[]>;
}

/** The Task API of a server. The environment's name, a part of its paths, is requested once. */
export function createTaskClient(http: HttpClient): TaskClient {
  let cached: Promise<string> | undefined;
  const prefix = (): Promise<string> => {
    cached ??= http.get("/list_environments").then((names) => `/${encodeURIComponent(first(names))}`);
    // A failure is not cached: the next call tries again.
    cached.catch(() => (cached = undefined));
    return cached;
  };
  const post = async <T>(route: string, body: JsonObject, key: string): Promise<T> => {
    const answer = (await http.post(`${await prefix()}/${route}`, body)) as JsonObject | null;
    if (answer?.[key] === undefined) {
      throw new ConnectionError("PROTOCOL_ERROR", `The Task API's answer to ${route} has no "${key}".`);
    }
    return answer[key] as T;
  };
  return {
    splits: async () => (await http.get(`${await prefix()}/splits`)) as TaskSplitInfo[],
    list: (split) => post("tasks", { split }, "tasks"),
    count: (split) => post("num_tasks", { split }, "num_tasks"),
    get: (split, index) => post("task", { split, index }, "task"),
    range: (split, start, stop) => post("task_range", { split, start, stop }, "tasks"),
  };
}

function first(names: unknown): string {
  if (Array.isArray(names) && typeof names[0] === "string") return names[0];
  throw new ConnectionError("PROTOCOL_ERROR", "GET /list_environments did not return a list of names.");
}
