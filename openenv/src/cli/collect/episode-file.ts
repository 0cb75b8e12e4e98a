import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { ConfigError } from "../../errors.js";
import { type EpisodeRecord, parseEpisode } from "../../protocol/episode.js";

/** Episodes on disk, a line each; a line is whole or not there. */
export interface EpisodeFile {
  /** What an earlier run has left. */
  readonly found: readonly EpisodeRecord[];
  append(record: EpisodeRecord): void;
  close(): void;
}

/**
 * Opens a file to go on with, or makes it. A last line that a killed run did not finish is cut off.
 * @throws ConfigError when it cannot be written, or holds something else.
 */
export function openEpisodeFile(path: string): EpisodeFile {
  const text = existsSync(path) ? readText(path) : "";
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  const lines = whole.split("\n").slice(0, -1);
  const found = lines.map((line, index) => read(path, line, index + 1));
  const file = open(path);
  ftruncateSync(file, Buffer.byteLength(whole));
  return {
    found,
    append: (record) => void writeSync(file, `${JSON.stringify(record)}\n`),
    close: () => closeSync(file),
  };
}

function read(path: string, line: string, number: number): EpisodeRecord {
  try {
    return parseEpisode(line);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new ConfigError(`${path}:${number} is no episode: ${why}. Give another --output, or move the file away.`, {
      cause,
    });
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new ConfigError(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

function open(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, "a");
  } catch (cause) {
    throw new ConfigError(`${path} cannot be written: ${(cause as Error).message}`, { cause });
  }
}
