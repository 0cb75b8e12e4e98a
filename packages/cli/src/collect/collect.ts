import type { Policy } from "openenv-ts";
import { connect, type EnvClient } from "openenv-ts/client";
import { ConfigError, OpenEnvError } from "openenv-ts/internal";
import type { EpisodeRecord, EpisodeTool, JsonObject } from "openenv-ts/protocol";
import { serverToken } from "../server-token.js";
import { type EpisodeSummary, openEpisodeFile, summarise } from "./episode-file.js";
import { playEpisode } from "./play-episode.js";

export interface Collection {
  url: string;
  environment: string;
  actionSchema: JsonObject;
  /** Recorded with every episode, see EpisodeRecord. */
  description: string;
  tools: EpisodeTool[];
  output: string;
  /** Number of episodes in the output at the end. */
  episodes: number;
  /** Concurrent sessions. */
  parallel: number;
  maxSteps: number;
  /** How many episodes in a row start equally. */
  groupSize: number;
  /** How often a failed episode is retried. */
  retries: number;
  policy: Policy;
  /** Returns the fields of an episode's reset. */
  resetOf(episode: number): JsonObject;
  signal: AbortSignal;
  onEpisode(done: number): void;
  onFailure(episode: number, error: unknown): void;
  /** Called with a warning of the server about a reset. The same warning may come more than once. */
  onWarning(text: string): void;
}

export interface Collected {
  played: EpisodeSummary[];
  /** Episodes that failed; the next run retries them. */
  failed: number;
}

/**
 * Runs the episodes that are missing in the file, several in parallel, and appends each one when it ends.
 * @throws ConfigError when the file has other content, or can no longer be written.
 */
export async function collect(collection: Collection): Promise<Collected> {
  const { output, episodes, parallel, onEpisode, onFailure, signal } = collection;
  const file = openEpisodeFile(output);
  try {
    const played = [...file.found];
    for (const summary of played) checkSame(collection, summary);
    const have = new Set(played.map(({ episode }) => episode));
    const missing = Array.from({ length: episodes }, (_, episode) => episode).filter((episode) => !have.has(episode));
    let failed = 0;
    let problem: unknown;
    const work = async (): Promise<void> => {
      let env: EnvClient | undefined;
      for (let episode = missing.shift(); episode !== undefined && !signal.aborted; episode = missing.shift()) {
        let record: EpisodeRecord;
        try {
          ({ record, env } = await playWithRetries(collection, episode, env));
        } catch (error) {
          env = undefined;
          if (signal.aborted) break;
          failed++;
          onFailure(episode, error);
          continue;
        }
        try {
          file.append(record);
        } catch (error) {
          problem ??= error;
          missing.length = 0;
          break;
        }
        onEpisode(played.push(summarise(record)));
      }
      await env?.close();
    };
    await Promise.all(Array.from({ length: Math.min(parallel, missing.length) }, work));
    if (problem !== undefined) throw problem;
    return { played, failed };
  } finally {
    file.close();
  }
}

/** Retries in a new session, because the session may have failed and not the episode. */
async function playWithRetries(
  collection: Collection,
  episode: number,
  kept: EnvClient | undefined,
): Promise<{ record: EpisodeRecord; env: EnvClient }> {
  const { url, retries, signal, groupSize, resetOf } = collection;
  const plan = { ...collection, episode, reset: resetOf(episode), member: episode % groupSize };
  for (let attempt = 0, env = kept; ; attempt++) {
    try {
      env ??= await connect(url, { signal, token: serverToken() });
      return { record: await playEpisode(env, plan), env };
    } catch (error) {
      await env?.close();
      env = undefined;
      // An error of the policy would happen again.
      if (attempt >= retries || signal.aborted || !(error instanceof OpenEnvError)) throw error;
    }
  }
}

/** Rejects a file with episodes of other options, because a mixture would look like one collection. */
function checkSame({ environment, output, resetOf }: Collection, { episode, ...record }: EpisodeSummary): void {
  const wanted = JSON.stringify(sorted(resetOf(episode)));
  const found = JSON.stringify(sorted(record.reset));
  if (record.environment === environment && found === wanted) return;
  throw new ConfigError(
    `${output} has episode ${episode} of ${record.environment} with ${found}, not of ${environment} with ${wanted}: ` +
      "pass another --output, or the options of the first run.",
  );
}

function sorted(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
