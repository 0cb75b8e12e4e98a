import type { EnvironmentDefinition } from "../../environment/environment.js";
import { normaliseSplit, type TaskProvider } from "../../environment/tasks/tasks.js";
import { stringifyJson } from "../../protocol/codec/json.js";
import { isObject } from "../../util/is-object.js";
import { CheckSkip, demand, NotApplicable, type Note } from "../report.js";

/** Reads every task of every split, as a trainer does by its index. */
export async function tasksLoad({ tasks }: EnvironmentDefinition, note: Note): Promise<void> {
  if (tasks === undefined) throw new NotApplicable("the environment has no tasks");
  if (tasks.splits === undefined) throw new CheckSkip("the task provider does not list its splits");
  const counts: string[] = [];
  for (const split of await tasks.splits()) {
    const { name } = normaliseSplit(split);
    counts.push(`${name} ${await readSplit(tasks, name)}`);
  }
  note({ detail: `tasks read: ${counts.join(", ")}` });
}

/** The number of tasks in the split. */
async function readSplit(tasks: TaskProvider, split: string): Promise<number> {
  const place = (index: number): string => `task ${index} of split ${JSON.stringify(split)}`;
  const listed = tasks.get === undefined ? await tasks.list?.(split) : undefined;
  const count = listed?.length ?? (await tasks.count?.(split));
  if (count === undefined) throw new CheckSkip("the task provider does not count its tasks");
  for (let index = 0; index < count; index++) {
    let task: unknown;
    try {
      task = listed === undefined ? await tasks.get?.(split, index) : listed[index];
      stringifyJson(task);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      demand(false, `${place(index)} cannot be read: ${message.replace(`${place(index)}: `, "")}`);
    }
    demand(isObject(task), `${place(index)} is not an object`);
  }
  return count;
}
