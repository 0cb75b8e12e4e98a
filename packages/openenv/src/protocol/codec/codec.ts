import { RemoteError } from "../../errors.js";
import type { JsonObject } from "../messages.js";
import { stringifyJson } from "./json.js";

/** The options of a reset. Only this file converts between wire names (`episode_id`) and options (`episodeId`). */
export interface ResetOptions {
  seed?: number | undefined;
  episodeId?: string | undefined;
  split?: string | undefined;
  index?: number | undefined;
}

/** Reset keys of the wire that every environment accepts. */
export const RESET_KEYS = ["seed", "episode_id", "split", "index"] as const;

/** Converts the options of a client's reset to the data of a reset frame; other keys keep their names. */
export function encodeReset(options: ResetOptions & Record<string, unknown>): Record<string, unknown> {
  const { episodeId, ...rest } = options;
  const data: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(rest)) if (value !== undefined) data[key] = value;
  if (episodeId !== undefined) data["episode_id"] = episodeId;
  return data;
}

/**
 * Serialises a client's frame, as text or with `write`.
 * @throws RemoteError VALIDATION_ERROR, as a server would answer, when the message has no JSON form.
 */
export function renderRequest<T = never>(message: JsonObject, write?: (message: JsonObject) => T): string | T {
  try {
    return write ? write(message) : stringifyJson(message);
  } catch (error) {
    throw new RemoteError("VALIDATION_ERROR", `The message cannot be sent as JSON: ${(error as Error).message}.`);
  }
}
