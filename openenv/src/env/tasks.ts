import type { MaybePromise } from "../util/types.js";

/** A part of the tasks. `type` says what it is for. */
export interface TaskSplit {
  name: string;
  type: "train" | "validation" | "test";
  [key: string]: unknown;
}

export type Task = Record<string, unknown>;

/**
 * The tasks of an environment. A method that is left out is answered with "not supported" (HTTP 501).
 * A RangeError says that an index is outside the split (HTTP 400).
 */
export interface TaskProvider {
  splits?(): MaybePromise<readonly (string | TaskSplit)[]>;
  list?(split: string): MaybePromise<readonly Task[]>;
  count?(split: string): MaybePromise<number>;
  get?(split: string, index: number): MaybePromise<Task>;
  /** Slice rules: `stop` is exclusive, negative numbers count from the end. */
  range?(split: string, start?: number, stop?: number): MaybePromise<readonly Task[]>;
}

/** A bare name becomes a split of that type when it is one, else a validation split. */
export function normaliseSplit(split: string | TaskSplit): TaskSplit {
  if (typeof split !== "string") return split;
  return { name: split, type: split === "train" || split === "test" ? split : "validation" };
}
