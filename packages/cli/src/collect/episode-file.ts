import { closeSync, ftruncateSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { ConfigError } from "openenv-ts/internal";
import { EPISODE_FORMAT, type EpisodeRecord, parseEpisode, renderEpisode } from "openenv-ts/protocol";

/** Episodes on disk, one on each line. A line is written completely or not at all. */
export interface EpisodeFile {
  /** The episodes of earlier runs. */
  readonly found: readonly EpisodeSummary[];
  /** @throws ConfigError when it cannot be written; then nothing of it is in the file. */
  append(record: EpisodeRecord): void;
  close(): void;
}

/** The part of an episode on disk that is kept in memory. */
export interface EpisodeSummary
  extends Pick<EpisodeRecord, "episode" | "environment" | "reset" | "total_reward" | "end"> {
  steps: number;
}

/**
 * Opens a file to continue, or creates it. Removes an incomplete last line of a killed run.
 * @throws ConfigError when the file cannot be written, its folder does not exist, or it has other content.
 */
export function openEpisodeFile(path: string): EpisodeFile {
  const folder = dirname(path);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(`No such folder: ${folder}. Create it, or pass a file in an existing folder.`);
  }
  const { found, size, complete } = read(path);
  const file = open(path);
  let end = size;
  const write = (text: string): void => {
    const bytes = Buffer.from(text);
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      end += bytes.length;
    } catch (cause) {
      truncate(file, end);
      throw problem(path, "write", cause);
    }
  };
  if (complete) write("\n");
  else if (size < statSync(path).size) truncate(file, size);
  return {
    found,
    append: (record) => write(`${renderEpisode(record)}\n`),
    close: () => closeSync(file),
  };
}

/** An episode of a file: the number of its line, from 1, and where the line is in the file. */
export interface FoundEpisode {
  line: number;
  at: number;
  bytes: number;
  record: EpisodeRecord;
}

/**
 * Reads the episodes of a complete file.
 * @throws ConfigError when the file cannot be read, is empty, or has a line that is not an episode.
 */
export function* readEpisodes(path: string): Generator<FoundEpisode> {
  if (!statSync(path, { throwIfNoEntry: false })) throw new ConfigError(`No such file: ${path}. Check the path.`);
  let line = 0;
  let at = 0;
  for (const { bytes } of readLines(path)) {
    line++;
    let record: EpisodeRecord;
    try {
      record = parseEpisode(bytes.toString());
    } catch (cause) {
      const advice = "Remove the line, or collect the episodes again.";
      throw notEpisode(path, line, { cause: cause as Error, advice });
    }
    yield { line, at, bytes: bytes.length, record };
    at += bytes.length + 1;
  }
  if (line === 0) throw new ConfigError(`${path} has no episodes; pass a file written by openenv collect.`);
}

/** Reads an episode that was found before. @throws ConfigError when the file has changed. */
export function readEpisodeAt(path: string, at: number, bytes: number): EpisodeRecord {
  const line = Buffer.alloc(bytes);
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    readSync(file, line, 0, bytes, at);
    return parseEpisode(line.toString());
  } catch (cause) {
    throw problem(path, "read", cause);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

export function summarise({ episode, environment, reset, total_reward, end, steps }: EpisodeRecord): EpisodeSummary {
  return { episode, environment, reset, total_reward, end, steps: steps.length };
}

interface Found {
  found: EpisodeSummary[];
  /** Bytes of the complete episodes. */
  size: number;
  /** The last episode is complete except for its newline. */
  complete: boolean;
}

/** The start of every line, also of an incomplete one and of an earlier version of the format. */
const BEGINNING = `{"format":"${EPISODE_FORMAT.replace(/\d+$/, "")}`;

function read(path: string): Found {
  const found: EpisodeSummary[] = [];
  let size = 0;
  for (const { bytes, ended } of readLines(path)) {
    const text = bytes.toString();
    try {
      found.push(summarise(parseEpisode(text)));
    } catch (cause) {
      if (!ended && (text.startsWith(BEGINNING) || BEGINNING.startsWith(text))) break;
      const advice = "Pass another --output, or move the file.";
      throw notEpisode(path, found.length + 1, { cause: cause as Error, advice });
    }
    size += bytes.length + (ended ? 1 : 0);
    if (!ended) return { found, size, complete: true };
  }
  return { found, size, complete: false };
}

function notEpisode(path: string, line: number, { cause, advice }: { cause: Error; advice: string }): ConfigError {
  return new ConfigError(`${path}:${line} is not a valid episode: ${cause.message}. ${advice}`, { cause });
}

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 0x0a;

/** Reads line by line, because a collection may be larger than the memory. */
function* readLines(path: string): Generator<{ bytes: Buffer; ended: boolean }> {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return;
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const parts: Buffer[] = [];
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      let rest = chunk.subarray(0, readSync(file, chunk));
      if (rest.length === 0) break;
      for (let at = rest.indexOf(NEWLINE); at >= 0; at = rest.indexOf(NEWLINE)) {
        yield { bytes: Buffer.concat([...parts.splice(0), rest.subarray(0, at)]), ended: true };
        rest = rest.subarray(at + 1);
      }
      if (rest.length > 0) parts.push(rest);
    }
    if (parts.length > 0) yield { bytes: Buffer.concat(parts), ended: false };
  } catch (cause) {
    throw problem(path, "read", cause);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function open(path: string): number {
  try {
    return openSync(path, "a");
  } catch (cause) {
    throw problem(path, "write", cause);
  }
}

function truncate(file: number, size: number): void {
  try {
    ftruncateSync(file, size);
  } catch {
    // The incomplete line stays; the next run removes it.
  }
}

function problem(path: string, doing: "read" | "write", cause: unknown): ConfigError {
  return new ConfigError(`Cannot ${doing} ${path}: ${(cause as Error).message}`, { cause });
}
