import { EnvironmentError, RubricError } from "../../errors.js";
import type { Named } from "./rubric-tree.js";

/** The rubric of an error, until the root of its tree adds the path. */
const sources = new WeakMap<RubricError, object>();

/** The error of a rubric that threw. The message of an EnvironmentError goes to the client, others only to the log. */
export function failureOf(rubric: object, cause: unknown): RubricError {
  if (cause instanceof RubricError) return cause;
  return remember(rubric, cause instanceof EnvironmentError ? `failed: ${cause.message}` : "failed", cause);
}

export function notFinite(rubric: object, score: unknown): RubricError {
  const found = typeof score === "number" ? String(score) : score === null ? "null" : `a value of type ${typeof score}`;
  return remember(rubric, `returned ${found}: a score must be a finite number`);
}

/** The same error, with the path of its rubric in the tree. */
export function withPath(error: unknown, all: readonly Named<object>[]): unknown {
  const source = error instanceof RubricError ? sources.get(error) : undefined;
  const path = source && all.find(([, rubric]) => rubric === source)?.[0];
  if (!path || !(error instanceof RubricError)) return error;
  const { message, cause, rubric } = error;
  const reason = message.slice(`the rubric ${rubric} `.length);
  return new RubricError(path, reason, cause === undefined ? undefined : { cause });
}

function remember(rubric: object, reason: string, cause?: unknown): RubricError {
  const name = rubric.constructor.name || "(anonymous)";
  const error = new RubricError(name, reason, cause === undefined ? undefined : { cause });
  sources.set(error, rubric);
  return error;
}
