import { RemoteError } from "../../errors.js";
import type { JsonObject } from "../messages.js";
import { stringifyJson } from "./json.js";

/** The one place where names change between the wire (`episode_id`) and TypeScript options (`episodeId`). */
export interface ResetOptions {
  seed?: number | undefined;
  episodeId?: string | undefined;
  split?: string | undefined;
  index?: number | undefined;
}

/** Reset keys of the wire that every environment takes. */
export const RESET_KEYS = ["seed", "episode_id", "split", "index"] as const;

/** Turns the options of a client's reset into the data of a reset frame; other keys keep their names. */
export function encodeReset(options: ResetOptions & Record<string, unknown>): Record<string, unknown> {
  const { episodeId, ...rest } = options;
  const data: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(rest)) if (value !== undefined) data[key] = value;
  if (episodeId !== undefined) data["episode_id"] = episodeId;
  return data;
}

/**
 * A client's frame, as text unless `write` makes something else of it.
 * @throws RemoteError VALIDATION_ERROR, as a server would answer: nothing is sent that JSON cannot hold.
 */
export function renderRequest(message: JsonObject): string;
export function renderRequest<T>(message: JsonObject, write: (message: JsonObject) => T): T;
export function renderRequest(message: JsonObject, write: (message: JsonObject) => unknown = stringifyJson): unknown {
  try {
    return write(message);
  } catch (error) {
    throw new RemoteError("VALIDATION_ERROR", `This cannot be sent as JSON: ${(error as Error).message}.`);
  }
}
