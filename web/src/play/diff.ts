import { isObject } from "../../../openenv/src/util/is-object.js";
import type { Step } from "./timeline.js";

/** A place where two values differ; undefined where one of them has nothing. */
export interface Change {
  path: string;
  before: unknown;
  after: unknown;
}

export interface Diff {
  changes: Change[];
  /** Places that were compared. */
  fields: number;
}

/** More are not listed. */
const MOST_CHANGES = 500;

/** What a step has that the one before had not, and the other way round. */
export function diffSteps(before: Step, after: Step): Diff {
  return diffValues(comparable(before), comparable(after));
}

/** The places where two JSON values differ, in the order of the second. */
export function diffValues(before: unknown, after: unknown): Diff {
  const diff: Diff = { changes: [], fields: 0 };
  compare(before, after, "", diff);
  return diff;
}

function comparable({ action, observation, reward, done, failure, kind }: Step) {
  return {
    action: kind === "reset" ? { reset: action } : action,
    observation,
    reward,
    done,
    error: failure?.message ?? null,
  };
}

function compare(before: unknown, after: unknown, path: string, diff: Diff): void {
  if (diff.changes.length >= MOST_CHANGES) return;
  const lists = Array.isArray(before) && Array.isArray(after);
  if (lists || (isObject(before) && isObject(after))) {
    const old = before as Record<string, unknown>;
    const now = after as Record<string, unknown>;
    for (const key of new Set([...Object.keys(now), ...Object.keys(old)])) {
      compare(old[key], now[key], lists ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`, diff);
    }
    return;
  }
  diff.fields++;
  if (JSON.stringify(before) !== JSON.stringify(after)) diff.changes.push({ path, before, after });
}
