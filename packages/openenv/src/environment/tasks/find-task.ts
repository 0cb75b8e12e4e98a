import { isThenable } from "../../util/async/thenable.js";
import type { MaybePromise } from "../../util/types.js";
import {
  listSplits,
  NoSuchTaskError,
  normaliseSplit,
  noSuchIndex,
  noSuchSplit,
  type Task,
  type TaskProvider,
} from "./tasks.js";

/** The task that a reset requests. */
interface Wanted {
  split: string | undefined;
  index: number | undefined;
}

/**
 * Finds the task of a reset; undefined without an index or if the provider has no `get`. Sync with a sync provider.
 * @throws NoSuchTaskError, or rejects with it, listing the splits or the number of tasks.
 */
export function findTask(tasks: TaskProvider, { split, index }: Wanted): MaybePromise<Task | undefined> {
  return then(tasks.splits?.(), (splits) => {
    const name = chooseSplit(
      splits?.map((each) => normaliseSplit(each).name),
      split,
    );
    if (index === undefined) return undefined;
    return then(tasks.count?.(name), (count) => {
      if (index < 0 || (count !== undefined && index >= count)) throw noSuchIndex(name, index, count);
      return getTask(tasks, name, index);
    });
  });
}

/** An index needs no split if there is only one. */
function chooseSplit(names: readonly string[] | undefined, split: string | undefined): string {
  if (split !== undefined) {
    if (names?.includes(split) === false) throw noSuchSplit(split, names);
    return split;
  }
  if (names?.length === 1) return names[0] as string;
  throw new NoSuchTaskError(`a task index needs a split${listSplits(names)}`);
}

function getTask(tasks: TaskProvider, split: string, index: number): MaybePromise<Task | undefined> {
  const fail = (error: unknown): never => {
    throw error instanceof RangeError ? noSuchIndex(split, index) : error;
  };
  try {
    const task = tasks.get?.(split, index);
    return isThenable(task) ? task.then(undefined, fail) : task;
  } catch (error) {
    return fail(error);
  }
}

function then<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isThenable(value) ? value.then(next) : next(value);
}
