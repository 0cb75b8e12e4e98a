import { createHash } from "node:crypto";
import { patternOf } from "#core/session/statistics/failures.js";
import { clip } from "#core/util/text/clip.js";
import type { StoredFailure } from "../query/summaries.js";

const MAX_TEXT = 200;
const MAX_MESSAGE = 2_000;
/** A failure with its message as it came, and without what differs between failures of one kind. */
export function describeFailure(failure: Omit<StoredFailure, "text">): StoredFailure {
  const message = clip(failure.message, MAX_MESSAGE);
  return { ...failure, text: clip(patternOf(message), MAX_TEXT), message };
}

/** Equal for failures of one kind: of one tool, or else with one code, and with one text. */
export function keyOf({ code, tool, text }: StoredFailure): string {
  return createHash("sha256")
    .update(JSON.stringify([tool ?? code, text]))
    .digest("base64url")
    .slice(0, 10);
}
