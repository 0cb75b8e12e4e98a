import { isObject } from "openenv-ts/internal";
import type { TimelineStep } from "./timeline.js";

/** A path at which two values differ; undefined where one value has no such path. */
export interface ValueChange {
  path: string;
  before: unknown;
  after: unknown;
}

export interface Diff {
  changes: ValueChange[];
  /** Number of compared paths. */
  fields: number;
}

/** Maximum number of listed changes. */
const MAX_CHANGES = 500;

/** The changes between a step and the previous one. */
export function diffSteps(before: TimelineStep, after: TimelineStep): Diff {
  return diffValues(comparable(before), comparable(after));
}

/** The paths at which two JSON values differ, in the order of the second value. */
export function diffValues(before: unknown, after: unknown): Diff {
  const diff: Diff = { changes: [], fields: 0 };
  compare(before, after, "", diff);
  return diff;
}

function comparable({ action, observation, reward, done, failure, kind }: TimelineStep) {
  return {
    action: kind === "reset" ? { reset: action } : action,
    observation,
    reward,
    done,
    error: failure?.message ?? null,
  };
}

function compare(before: unknown, after: unknown, path: string, diff: Diff): void {
  if (diff.changes.length >= MAX_CHANGES) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let at = 0; at < Math.max(before.length, after.length); at++) {
      // Fast path: most items are equal, and a list may have a million.
      if (isSame(before[at], after[at])) diff.fields++;
      else compare(before[at], after[at], `${path}[${at}]`, diff);
    }
    return;
  }
  if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(after), ...Object.keys(before)])) {
      compare(own(before, key), own(after, key), path === "" ? key : `${path}.${key}`, diff);
    }
    return;
  }
  diff.fields++;
  if (!isSame(before, after)) diff.changes.push({ path, before, after });
}

/** A field may be called `constructor`. */
function own(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Compares values that are not both lists or both objects. */
function isSame(before: unknown, after: unknown): boolean {
  return Object.is(before, after) || (before === 0 && after === 0);
}
