import { createHash } from "node:crypto";
import { toColumns } from "openenv-ts/internal";
import type { EpisodeRecord } from "openenv-ts/protocol";
import { type FoundEpisode, readEpisodeAt, readEpisodes } from "../collect/episode-file.js";
import { FAILED, type Form, isFailed, NO_START, NO_STEPS, PREFERENCE, pairOf } from "./forms.js";
import { openRowFile } from "./row-file.js";
import type { EpisodeColumns } from "./verifiers.js";

export interface Exported {
  /** Number of episodes in the files. */
  episodes: number;
  rows: number;
  /** Number of episodes that are in no row, by reason. */
  dropped: Record<string, number>;
}

export interface ExportOptions {
  files: readonly string[];
  output: string;
  /** Episodes with a lower total reward are dropped. */
  minReward?: number | undefined;
}

/**
 * Writes a row for each episode. Holds one group of rows in memory, whatever the size of the files. Without a row, there is
 * no output.
 * @throws ConfigError when a file has a line that is not an episode, or the output cannot be written.
 */
export async function exportEpisodes(form: Form, { files, output, minReward }: ExportOptions): Promise<Exported> {
  const file = openRowFile(output, await form.writer());
  const counted = createCounter();
  try {
    const toRow = form.rows();
    for (const { record, columns, bytes } of readAll(files)) {
      const { keepsFailed = false } = form;
      const dropped = keepsFailed && isFailed(columns) ? undefined : findReason(columns, minReward);
      const made = dropped === undefined ? toRow(record, columns) : { dropped };
      if ("row" in made) file.write(made.row, bytes);
      counted.add("row" in made ? undefined : made.dropped);
    }
    if (counted.result.rows > 0) file.finish();
    return counted.result;
  } finally {
    file.discard();
  }
}

/** The best and the worst episode of a group, and where they are. */
interface Group {
  best: Place;
  worst: Place;
  size: number;
}

interface Place extends Pick<FoundEpisode, "at" | "bytes"> {
  file: string;
  reward: number;
}

/**
 * Writes a row for each group with different rewards: its best episode is chosen, its worst one rejected. Reads the files
 * twice; holds two places for each group in memory.
 * @throws ConfigError like exportEpisodes.
 */
export async function exportPairs({ files, output, minReward }: ExportOptions): Promise<Exported> {
  const file = openRowFile(output, await PREFERENCE.writer());
  const counted = createCounter();
  try {
    const groups = new Map<string, Group>();
    for (const { file: path, record, columns, at, bytes } of readAll(files)) {
      const key = keyOf(record, columns);
      const reason = findReason(columns, undefined) ?? (key === "" ? NO_START : undefined);
      const dropped = reason ?? (record.steps.length === 0 ? NO_STEPS : undefined);
      if (dropped !== undefined) {
        counted.add(dropped);
        continue;
      }
      const place = { file: path, at, bytes, reward: record.total_reward as number };
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { best: place, worst: place, size: 1 });
      else {
        group.size++;
        if (place.reward > group.best.reward) group.best = place;
        if (place.reward < group.worst.reward) group.worst = place;
      }
    }
    for (const { best, worst, size } of groups.values()) {
      if (size === 1) counted.add("alone in their group");
      else if (best.reward === worst.reward) counted.add("equal rewards in their group", size);
      else if (minReward !== undefined && best.reward < minReward) counted.add(LOW_REWARD, size);
      else {
        const [chosen, rejected] = [best, worst].map(({ file: path, at, bytes }) => readEpisodeAt(path, at, bytes));
        file.write(pairOf(chosen as EpisodeRecord, rejected as EpisodeRecord), best.bytes + worst.bytes);
        counted.add(undefined, 2);
        if (size > 2) counted.add("neither best nor worst of their group", size - 2);
      }
    }
    counted.result.rows /= 2;
    if (counted.result.rows > 0) file.finish();
    return counted.result;
  } finally {
    file.discard();
  }
}

const LOW_REWARD = "below --min-reward";

function* readAll(files: readonly string[]) {
  for (const file of files) {
    for (const found of readEpisodes(file)) yield { file, ...found, columns: toColumns(found.record) };
  }
}

function findReason(columns: EpisodeColumns, minReward: number | undefined): string | undefined {
  if (isFailed(columns)) return FAILED;
  // Only a failed one has no reward.
  return minReward !== undefined && (columns.total_reward as number) < minReward ? LOW_REWARD : undefined;
}

/** Equal for episodes that can be compared: of one group, and with the same first message and tools. */
function keyOf({ tools }: EpisodeRecord, { group_id: group, messages }: EpisodeColumns): string {
  if (group === "") return "";
  const start = [group, messages[0], tools];
  return createHash("sha256").update(JSON.stringify(start)).digest("base64");
}

function createCounter() {
  const result: Exported = { episodes: 0, rows: 0, dropped: {} };
  return {
    result,
    /** Counts episodes that are in a row, or were dropped for a reason. */
    add(dropped: string | undefined, episodes = 1): void {
      result.episodes += episodes;
      if (dropped === undefined) result.rows += episodes;
      else result.dropped[dropped] = (result.dropped[dropped] ?? 0) + episodes;
    },
  };
}
