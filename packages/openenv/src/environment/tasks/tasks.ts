import { EnvironmentError } from "../../errors.js";
import { clip } from "../../util/text/clip.js";
import type { MaybePromise } from "../../util/types.js";

/** A part of the tasks. `type` says what it is for. */
export interface TaskSplit {
  name: string;
  type: "train" | "validation" | "test";
  [key: string]: unknown;
}

export type Task = Record<string, unknown>;

/**
 * The tasks of an environment. A method that is left out is answered with "not supported" (HTTP 501).
 * A RangeError says that an index is outside the split (HTTP 400). {@link createTasks} makes one out of lists.
 */
export interface TaskProvider {
  splits?(): MaybePromise<readonly (string | TaskSplit)[]>;
  list?(split: string): MaybePromise<readonly Task[]>;
  count?(split: string): MaybePromise<number>;
  get?(split: string, index: number): MaybePromise<Task>;
  /** Slice rules: `stop` is exclusive, negative numbers count from the end. */
  range?(split: string, start?: number, stop?: number): MaybePromise<readonly Task[]>;
}

/** A split or an index that is not there; what is there is in the message. */
export class NoSuchTaskError extends EnvironmentError {}

/** A bare name becomes a split of that type when it is one, else a validation split. */
export function normaliseSplit(split: string | TaskSplit): TaskSplit {
  if (typeof split !== "string") return split;
  return { name: split, type: split === "train" || split === "test" ? split : "validation" };
}

export function noSuchSplit(split: string, names: readonly string[]): NoSuchTaskError {
  return new NoSuchTaskError(`there is no split ${quote(split)}${listSplits(names)}`);
}

export function noSuchIndex(split: string, index: number, count?: number): NoSuchTaskError {
  const there = count === undefined ? "" : count === 0 ? ": it is empty" : `: it has ${count}, 0 to ${count - 1}`;
  return new NoSuchTaskError(`there is no task ${index} in the split ${quote(split)}${there}`);
}

/** The end of a message that says which splits there are. */
export function listSplits(names: readonly string[] | undefined): string {
  if (names === undefined) return "";
  const shown = names.slice(0, SHOWN).map(quote).join(", ") || "none";
  return `; there are: ${shown}${names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ""}`;
}

const SHOWN = 20;

function quote(name: string): string {
  return JSON.stringify(clip(name, 100));
}
