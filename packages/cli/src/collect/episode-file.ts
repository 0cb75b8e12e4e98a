import { closeSync, ftruncateSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { ConfigError } from "openenv-ts/internal";
import { EPISODE_FORMAT, type EpisodeRecord, parseEpisode } from "openenv-ts/protocol";

/** Episodes on disk, a line each; a line is whole or not there. */
export interface EpisodeFile {
  /** What an earlier run has left. */
  readonly found: readonly EpisodeSummary[];
  /** @throws ConfigError when it cannot be written; then nothing of it is there. */
  append(record: EpisodeRecord): void;
  close(): void;
}

/** What is remembered of an episode that is on disk. */
export interface EpisodeSummary extends Pick<EpisodeRecord, "episode" | "environment" | "reset" | "total_reward"> {
  steps: number;
}

/**
 * Opens a file to go on with, or makes it. A last line that a killed run did not finish is cut off.
 * @throws ConfigError when it cannot be written, as in a folder that is not there, or holds something else.
 */
export function openEpisodeFile(path: string): EpisodeFile {
  const folder = dirname(path);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(`There is no folder ${folder}; make it, or name a file in one that is there.`);
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
      cut(file, end);
      throw problem(path, "written", cause);
    }
  };
  if (complete) write("\n");
  else if (size < statSync(path).size) cut(file, size);
  return {
    found,
    append: (record) => write(`${JSON.stringify(record)}\n`),
    close: () => closeSync(file),
  };
}

export function summarise({ episode, environment, reset, total_reward, steps }: EpisodeRecord): EpisodeSummary {
  return { episode, environment, reset, total_reward, steps: steps.length };
}

interface Found {
  found: EpisodeSummary[];
  /** Bytes of the episodes that are whole. */
  size: number;
  /** The last one lacks nothing but the end of its line. */
  complete: boolean;
}

/** With which every line begins, and so one that was not finished. */
const BEGINNING = `{"format":"${EPISODE_FORMAT}"`;

function read(path: string): Found {
  const found: EpisodeSummary[] = [];
  let size = 0;
  for (const { bytes, ended } of readLines(path)) {
    const text = bytes.toString();
    try {
      found.push(summarise(parseEpisode(text)));
    } catch (cause) {
      if (!ended && (text.startsWith(BEGINNING) || BEGINNING.startsWith(text))) break;
      const why = (cause as Error).message;
      const advice = "Give another --output, or move the file away.";
      throw new ConfigError(`${path}:${found.length + 1} is not a valid episode: ${why}. ${advice}`, { cause });
    }
    size += bytes.length + (ended ? 1 : 0);
    if (!ended) return { found, size, complete: true };
  }
  return { found, size, complete: false };
}

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 0x0a;

/** One line after the other, because collections outgrow the memory. */
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
    throw problem(path, "written", cause);
  }
}

function cut(file: number, size: number): void {
  try {
    ftruncateSync(file, size);
  } catch {
    // What stays is the beginning of a line, which the next run cuts off.
  }
}

function problem(path: string, done: "read" | "written", cause: unknown): ConfigError {
  return new ConfigError(`${path} cannot be ${done}: ${(cause as Error).message}`, { cause });
}
