import type { Policy } from "openenv-ts";
import { connect, type EnvClient } from "openenv-ts/client";
import { ConfigError, OpenEnvError } from "openenv-ts/internal";
import type { EpisodeRecord, JsonObject } from "openenv-ts/protocol";
import { serverToken } from "../server-token.js";
import { type EpisodeSummary, openEpisodeFile, summarise } from "./episode-file.js";
import { playEpisode } from "./play-episode.js";

export interface Collection {
  url: string;
  environment: string;
  actionSchema: JsonObject;
  output: string;
  /** How many episodes there are in the end. */
  episodes: number;
  /** Sessions at a time. */
  parallel: number;
  maxSteps: number;
  /** How often an episode is played anew after a failure. */
  retries: number;
  policy: Policy;
  /** What the reset of an episode is asked. */
  resetOf(episode: number): JsonObject;
  signal: AbortSignal;
  onEpisode(done: number): void;
  onFailure(episode: number, error: unknown): void;
  /** What the server says of a reset; the same may come again. */
  onWarning(text: string): void;
}

export interface Collected {
  played: EpisodeSummary[];
  /** Episodes that could not be played; the next run tries them again. */
  failed: number;
}

/**
 * Plays the episodes that the file does not have yet, several at a time, and appends each when it is over.
 * @throws ConfigError when the file holds something else, or can no longer be written.
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
          ({ record, env } = await playPatiently(collection, episode, env));
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

/** Tries again on a session of its own: what failed may have been the session, not the episode. */
async function playPatiently(
  collection: Collection,
  episode: number,
  kept: EnvClient | undefined,
): Promise<{ record: EpisodeRecord; env: EnvClient }> {
  const { url, environment, actionSchema, maxSteps, policy, retries, signal, resetOf, onWarning } = collection;
  const plan = { episode, environment, reset: resetOf(episode), policy, actionSchema, maxSteps, onWarning };
  for (let attempt = 0, env = kept; ; attempt++) {
    try {
      env ??= await connect(url, { signal, token: serverToken() });
      return { record: await playEpisode(env, plan), env };
    } catch (error) {
      await env?.close();
      env = undefined;
      // What the policy or its author did wrong is wrong the next time, too.
      if (attempt >= retries || signal.aborted || !(error instanceof OpenEnvError)) throw error;
    }
  }
}

/** A file goes on only with what it was begun with: the mixture would look like one collection. */
function checkSame({ environment, output, resetOf }: Collection, { episode, ...record }: EpisodeSummary): void {
  const asked = JSON.stringify(sorted(resetOf(episode)));
  const found = JSON.stringify(sorted(record.reset));
  if (record.environment === environment && found === asked) return;
  const theirs = `${record.environment} with ${found}`;
  throw new ConfigError(
    `${output} has episode ${episode} of ${theirs}, and now ${environment} with ${asked} is asked for: ` +
      "give another --output, or the options of the first run.",
  );
}

function sorted(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
