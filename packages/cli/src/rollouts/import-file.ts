import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { ConfigError, isObject, parseJson } from "openenv-ts/internal";
import { type EpisodeRecord, parseEpisode } from "openenv-ts/protocol";
import { readTraces } from "./read-traces.js";

/** Reads the episodes of a file of ours or of verifiers. @throws ConfigError that names the line and the reason. */
export async function* readRollouts(path: string): AsyncGenerator<EpisodeRecord> {
  let line = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
      line++;
      if (text.trim() !== "") yield readRollout(text);
    }
  } catch (cause) {
    const { message, code } = cause as NodeJS.ErrnoException;
    if (code !== undefined) throw new ConfigError(`Cannot read ${path}: ${message}`, { cause });
    const advice = "Pass a file of openenv collect, openenv rollouts export or verifiers.";
    throw new ConfigError(`${path}:${line} is not an episode: ${message}. ${advice}`, { cause });
  }
}

function readRollout(text: string): EpisodeRecord {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    throw new TypeError("it is not valid JSON", { cause });
  }
  return isObject(value) && "traces" in value ? readTraces(value) : parseEpisode(text);
}
