import { createHash } from "node:crypto";
import type { Fault } from "#core/errors.js";
import { clip } from "#core/util/text/clip.js";
import type { StoredFailure } from "../query/summaries.js";

const MAX_TEXT = 200;
const MAX_MESSAGE = 2_000;
/** Names in quotes, ids, and numbers: what differs between failures of one kind. An apostrophe inside a word begins no name. */
const NAMES = /"[^"]*"|`[^`]*`|“[^”]*”|(?<!\w)'[^']*'(?!\w)/g;
const IDS = /\b(?=[a-f-]*\d)[0-9a-f]{4,}(?:-[0-9a-f]{4,})*\b|\d+(?:[.,]\d+)*/gi;

/** A failure with its message as it came, and without what differs between failures of one kind. */
export function describeFailure(
  { code, tool, fault }: { code: string; tool: string | null; fault: Fault },
  message: string,
): StoredFailure {
  const plain = clip(message, MAX_MESSAGE).replace(NAMES, "…").replace(IDS, "#");
  return { code, tool, text: clip(plain, MAX_TEXT), message: clip(message, MAX_MESSAGE), fault };
}

/** Equal for failures of one kind: of one tool, or else with one code, and with one text. */
export function keyOf({ code, tool, text }: StoredFailure): string {
  return createHash("sha256")
    .update(JSON.stringify([tool ?? code, text]))
    .digest("base64url")
    .slice(0, 10);
}
