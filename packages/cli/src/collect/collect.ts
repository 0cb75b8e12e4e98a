import type { Policy } from "openenv-ts";
import { connect, type EnvClient, type OpenEnvError } from "openenv-ts/client";
import { ConfigError } from "openenv-ts/internal";
import type { EpisodeRecord, EpisodeTool, JsonObject } from "openenv-ts/protocol";
import { serverToken } from "../server-token.js";
import { type EpisodeSummary, openEpisodeFile, summarise } from "./episode-file.js";
import { type CollectedEpisode, playEpisode } from "./play-episode.js";

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
  /** Number of episodes in a row that start equally. */
  groupSize: number;
  /** Number of times that a failed episode is retried. */
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
  /** Those that have a result. */
  played: EpisodeSummary[];
  /** Episodes that failed; the next run retries them. */
  failed: number;
  /** Number of failed episodes that were lost, and are recorded as such. */
  lost: number;
}

/**
 * Runs the episodes that are missing in the file, several in parallel, and appends each one when it ends, one that was lost too.
 * @throws ConfigError when the file has other content, or can no longer be written.
 */
export async function collect(collection: Collection): Promise<Collected> {
  const { output, episodes, parallel, onEpisode, onFailure, signal } = collection;
  const file = openEpisodeFile(output);
  try {
    for (const summary of file.found) checkSame(collection, summary);
    const played = file.found.filter(({ end }) => end !== "lost");
    const have = new Set(played.map(({ episode }) => episode));
    const missing = Array.from({ length: episodes }, (_, episode) => episode).filter((episode) => !have.has(episode));
    let [failed, lost] = [0, 0];
    let problem: unknown;
    const work = async (): Promise<void> => {
      let env: EnvClient | undefined;
      for (let episode = missing.shift(); episode !== undefined && !signal.aborted; episode = missing.shift()) {
        let record: EpisodeRecord;
        let failure: OpenEnvError | undefined;
        try {
          ({ record, failure, env } = await playWithRetries(collection, episode, env));
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
        if (failure === undefined) onEpisode(played.push(summarise(record)));
        else {
          failed++;
          lost++;
          onFailure(episode, failure);
        }
      }
      await env?.close();
    };
    await Promise.all(Array.from({ length: Math.min(parallel, missing.length) }, work));
    if (problem !== undefined) throw problem;
    return { played, failed, lost };
  } finally {
    file.close();
  }
}

/** Retries in a new session, because the session may have failed and not the episode. */
async function playWithRetries(
  collection: Collection,
  episode: number,
  kept: EnvClient | undefined,
): Promise<CollectedEpisode & { env: EnvClient | undefined }> {
  const { url, retries, signal, groupSize, resetOf } = collection;
  const plan = { ...collection, episode, reset: resetOf(episode), member: episode % groupSize };
  const open = (): Promise<EnvClient> => connect(url, { signal, token: serverToken() });
  let env = kept;
  for (let attempt = 0; ; attempt++) {
    try {
      const played = await playEpisode(async () => (env ??= await open()), plan);
      if (played.failure === undefined) return { ...played, env };
      signal.throwIfAborted();
      // It would fail again, and the session has not failed.
      if (played.failure.code === "POLICY_FAILED") return { ...played, env };
      await env?.close();
      env = undefined;
      if (attempt >= retries) return { ...played, env };
    } catch (error) {
      await env?.close();
      throw error;
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
