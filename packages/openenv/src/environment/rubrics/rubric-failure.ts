import { EnvironmentError, RubricError } from "../../errors.js";
import type { Named } from "./rubric-tree.js";

/** Which rubric an error is about, until the root of its tree tells the path. */
const sources = new WeakMap<RubricError, object>();

/** The error of a rubric that threw: an author's EnvironmentError speaks to the client, other messages are for the log. */
export function failureOf(rubric: object, cause: unknown): RubricError {
  if (cause instanceof RubricError) return cause;
  return remember(rubric, cause instanceof EnvironmentError ? `failed: ${cause.message}` : "failed", cause);
}

export function notFinite(rubric: object, score: unknown): RubricError {
  const found = typeof score === "number" ? String(score) : score === null ? "null" : `a value of type ${typeof score}`;
  return remember(rubric, `gave ${found}: a score is a finite number`);
}

/** The same error with the path of its rubric in the tree. */
export function withPath(error: unknown, all: readonly Named<object>[]): unknown {
  const source = error instanceof RubricError ? sources.get(error) : undefined;
  const path = source && all.find(([, rubric]) => rubric === source)?.[0];
  if (!path || !(error instanceof RubricError)) return error;
  const { message, cause, rubric } = error;
  const reason = message.slice(`the rubric ${rubric} `.length);
  return new RubricError(path, reason, cause === undefined ? undefined : { cause });
}

function remember(rubric: object, reason: string, cause?: unknown): RubricError {
  const name = rubric.constructor.name || "without a name";
  const error = new RubricError(name, reason, cause === undefined ? undefined : { cause });
  sources.set(error, rubric);
  return error;
}
