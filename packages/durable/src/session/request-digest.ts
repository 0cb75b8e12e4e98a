import { createHash } from "node:crypto";
import type { JsonObject } from "#core/protocol/messages.js";
import { canonicalJson } from "#core/util/canonical-json.js";
import { isObject } from "#core/util/is-object.js";

/** The member of `metadata` by which a released client names a step below an address. */
export const REQUEST_ID = "openenv.request_id";

/** The id of a step, as its client wrote it. */
export function requestIdOf({ metadata }: JsonObject): unknown {
  return isObject(metadata) ? metadata[REQUEST_ID] : undefined;
}

/** A text that is the same for the same request, in whatever order its keys were written, with bytes as base64. */
export function digestRequest({ type, data }: { type?: unknown; data?: unknown }): string {
  return createHash("sha256").update(canonicalJson({ type, data })).digest("base64");
}
