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
