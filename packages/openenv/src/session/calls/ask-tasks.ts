import {
  NoSuchTaskError,
  normaliseSplit,
  type TaskMethod,
  type TaskProvider,
  type TaskSplit,
} from "../../environment/tasks/tasks.js";
import { stringifyJson } from "../../protocol/codec/json.js";
import { describeError, faultOf, toError } from "../failure.js";
import type { Runtime } from "../runtime.js";
import { CALL, markCall, NO_SESSION } from "./call-marks.js";

type Method<K extends TaskMethod> = NonNullable<TaskProvider[K]>;

/** The answer of the Task API as plain JSON, or the reason for an error with its HTTP status. */
export type TaskAnswer = { value: unknown } | { status: 400 | 500 | 501; message: string };

const NO_SUCH_TASK = { status: 400, message: "Invalid task index" } as const;

/** Calls a method of the environment's task provider. Never rejects. */
export async function askTasks<K extends TaskMethod>(
  { number, definition, mode, log }: Pick<Runtime, "number" | "definition" | "mode" | "log">,
  method: K,
  args: Parameters<Method<K>>,
): Promise<TaskAnswer> {
  const call = definition.tasks?.[method] as ((...args: unknown[]) => unknown) | undefined;
  if (call === undefined) {
    const message = `'${definition.contract.name}' does not support this request: it has no task provider with ${method}()`;
    return { status: 501, message };
  }
  const fail = (error: unknown): TaskAnswer => {
    if (error instanceof NoSuchTaskError) return { status: 400, message: error.message };
    log.warn({ err: toError(error), fault: faultOf(error) }, `the task provider failed in ${method}`);
    return { status: 500, message: describeError(error, mode) };
  };
  let found: unknown;
  try {
    const of = { server: number, session: NO_SESSION };
    found = await markCall(of, CALL.tasks, () => call.apply(definition.tasks, args));
  } catch (error) {
    return error instanceof RangeError ? NO_SUCH_TASK : fail(error);
  }
  if (found === undefined) return NO_SUCH_TASK;
  try {
    const isSplits = method === "splits";
    const value = isSplits ? (found as (string | TaskSplit)[]).map(normaliseSplit) : found;
    const plain = JSON.parse(stringifyJson(value)) as unknown;
    return { value: isSplits ? plain : withoutHidden(plain, definition.tasks?.hidden) };
  } catch (error) {
    // This is not NO_SUCH_TASK: serialising can also throw a RangeError.
    return fail(error);
  }
}

/** The answer without the fields that only the environment receives. */
function withoutHidden(value: unknown, hidden: readonly string[] = []): unknown {
  if (hidden.length === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((task) => withoutHidden(task, hidden));
  return Object.fromEntries(Object.entries(value).filter(([name]) => !hidden.includes(name)));
}
