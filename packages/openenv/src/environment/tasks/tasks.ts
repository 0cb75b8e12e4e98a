import { EnvironmentError } from "../../errors.js";
import { clip } from "../../util/text/clip.js";
import type { MaybePromise } from "../../util/types.js";

/** A named list of tasks. `type` is its purpose. */
export interface TaskSplit {
  name: string;
  type: "train" | "validation" | "test";
  [key: string]: unknown;
}

export type Task = Record<string, unknown>;

/** The keys of a task that have the same meaning in every environment. Samplers read them. */
export interface TaskKeys {
  id?: string | number;
  /** The place of the task: what a reset names. */
  split?: string;
  index?: number;
  /** Higher is harder. */
  difficulty?: number;
  /** Tasks of one kind have the same group. */
  group?: string | number;
}

/**
 * The tasks of an environment. All methods are optional; the server answers 501 for a missing method.
 * Throw a RangeError for an index outside the split (HTTP 400). {@link createTasks} creates a provider from lists.
 */
export interface TaskProvider<T extends Task = Task> {
  /** The names of fields that only `reset` receives: the Task API and ORS leave them out. */
  readonly hidden?: readonly string[];
  splits?(): MaybePromise<readonly (string | TaskSplit)[]>;
  list?(split: string): MaybePromise<readonly T[]>;
  count?(split: string): MaybePromise<number>;
  get?(split: string, index: number): MaybePromise<T>;
  /** Returns a slice: `stop` is exclusive, negative numbers count from the end. */
  range?(split: string, start?: number, stop?: number): MaybePromise<readonly T[]>;
}

export type TaskMethod = Exclude<keyof TaskProvider, "hidden">;

/** An unknown split or index; the message lists the available ones. */
export class NoSuchTaskError extends EnvironmentError {}

/** Converts a name to a split: `train` and `test` have their own type, all others are validation splits. */
export function normaliseSplit(split: string | TaskSplit): TaskSplit {
  if (typeof split !== "string") return split;
  return { name: split, type: split === "train" || split === "test" ? split : "validation" };
}

export function noSuchSplit(split: string, names: readonly string[]): NoSuchTaskError {
  return new NoSuchTaskError(`unknown split ${quote(split)}${listSplits(names)}`);
}

export function noSuchIndex(split: string, index: number, count?: number): NoSuchTaskError {
  const there = count === undefined ? "" : count === 0 ? ", which is empty" : `, which has tasks 0 to ${count - 1}`;
  return new NoSuchTaskError(`no task ${index} in split ${quote(split)}${there}`);
}

/** The beginning of a message about the data of one task. */
export function nameTask(split: string, index: number): string {
  return `task ${index} of split ${quote(split)}`;
}

/** The end of a message that lists the available splits. */
export function listSplits(names: readonly string[] | undefined): string {
  if (names === undefined) return "";
  const shown = names.slice(0, SHOWN).map(quote).join(", ") || "none";
  return `; available splits: ${shown}${names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ""}`;
}

const SHOWN = 20;

function quote(name: string): string {
  return JSON.stringify(clip(name, 100));
}
