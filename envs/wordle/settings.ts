import { ConfigError } from "openenv-ts";

/** What one server plays. */
export interface Settings {
  envId: string;
  players: number;
  guesses: number;
}

const SUPPORTED = ["Wordle-v0"];
const MAX_GUESSES = 20;

/**
 * Reads `TEXTARENA_ENV_ID`, `TEXTARENA_NUM_PLAYERS` and `TEXTARENA_MAX_TURNS`.
 * @throws ConfigError when one of them requests what this environment does not have.
 */
export function readSettings(variables: Record<string, string | undefined>): Settings {
  const envId = variables["TEXTARENA_ENV_ID"] || "Wordle-v0";
  if (!SUPPORTED.includes(envId)) {
    throw new ConfigError(`TEXTARENA_ENV_ID must be one of ${SUPPORTED.join(", ")}, not "${envId}".`);
  }
  const players = variables["TEXTARENA_NUM_PLAYERS"] || "1";
  if (players !== "1") throw new ConfigError(`TEXTARENA_NUM_PLAYERS must be 1 for ${envId}, not "${players}".`);
  return { envId, players: 1, guesses: readGuesses(variables["TEXTARENA_MAX_TURNS"] || "6") };
}

function readGuesses(text: string): number {
  const guesses = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (guesses >= 1 && guesses <= MAX_GUESSES) return guesses;
  throw new ConfigError(`TEXTARENA_MAX_TURNS must be an integer from 1 to ${MAX_GUESSES}, not "${text}".`);
}
