import { createHash } from "node:crypto";
import { canonicalJson } from "../../util/canonical-json.js";

/** A text that is the same for the same request, in whatever order its keys were written, with bytes as base64. */
export function digestRequest({ type, data }: { type?: unknown; data?: unknown }): string {
  return createHash("sha256").update(canonicalJson({ type, data })).digest("base64");
}
