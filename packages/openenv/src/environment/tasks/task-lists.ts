import { snapshot } from "../../util/snapshot.js";
import { noSuchIndex, noSuchSplit, type Task, type TaskProvider } from "./tasks.js";

/** The tasks of one split: an array, or a list that reads them on access. `at` works like `Array.prototype.at`. */
export interface TaskList {
  readonly length: number;
  at(index: number): Task | undefined;
}

/** A task provider with all methods, which are sync. */
export interface TaskLists extends TaskProvider {
  splits(): readonly string[];
  list(split: string): Task[];
  count(split: string): number;
  get(split: string, index: number): Task;
  range(split: string, start?: number, stop?: number): Task[];
}

/**
 * Creates a task provider from one list for each split. A split named `train` or `test` has that type; all others have
 * the type `validation`. The fields in `hidden`, such as the answer, reach `reset` only: clients never receive them.
 * @throws TypeError without a split.
 * @example createTasks({ train: [{ question: "1+1", answer: 2 }], test: parseJsonl(text) }, { hidden: ["answer"] })
 */
export function createTasks(
  splits: Readonly<Record<string, TaskList>>,
  { hidden = [] }: { hidden?: readonly string[] } = {},
): TaskLists {
  const lists = new Map(Object.entries(splits));
  const names = [...lists.keys()];
  if (names.length === 0) throw new TypeError("createTasks needs at least one split: createTasks({ train: [ … ] }).");
  const listOf = (split: string): TaskList => {
    const list = lists.get(split);
    if (list === undefined) throw noSuchSplit(split, names);
    return list;
  };
  const get = (split: string, index: number): Task => {
    const list = listOf(split);
    const task = index >= 0 ? list.at(index) : undefined;
    if (task === undefined) throw noSuchIndex(split, index, list.length);
    // An array returns the same object to every session, which might change it.
    return snapshot(task);
  };
  const range = (split: string, start = 0, stop?: number): Task[] => {
    const { length } = listOf(split);
    const place = (at: number): number => (at < 0 ? Math.max(0, length + at) : Math.min(at, length));
    const [from, to] = [place(start), place(stop ?? length)];
    return Array.from({ length: Math.max(0, to - from) }, (_, i) => get(split, from + i));
  };
  return {
    hidden,
    splits: () => names,
    list: (split) => range(split),
    count: (split) => listOf(split).length,
    get,
    range,
  };
}
