import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, vi } from "vitest";
import { EPISODE_FORMAT, type EpisodeRecord } from "../../packages/openenv/src/protocol/episode.js";
import type { EpisodeRow, RolloutPage } from "../../packages/openenv/src/protocol/rollouts.js";

/** Makes paths of stores, which are deleted after the test. */
export function useStores(): () => string {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  return () => {
    const folder = mkdtempSync(join(tmpdir(), "openenv-rollouts-"));
    folders.push(folder);
    return join(folder, "data");
  };
}

/** The JSON of an answer with status 200. */
export async function get<T>(url: string, headers: Record<string, string> = {}): Promise<T> {
  const answer = await fetch(url, { headers });
  expect([answer.status, answer.status === 200 ? "" : await answer.clone().text()]).toEqual([200, ""]);
  return (await answer.json()) as T;
}

/** The rows, when there are as many as expected. */
export async function rowsOf(url: string, count: number, query = ""): Promise<EpisodeRow[]> {
  let page: RolloutPage<EpisodeRow> | undefined;
  await vi.waitFor(
    async () => {
      page = await get<RolloutPage<EpisodeRow>>(`${url}/rollouts${query}`);
      expect(page.rows).toHaveLength(count);
    },
    { timeout: 20_000, interval: 50 },
  );
  return page?.rows ?? [];
}

/** An episode of a file, which is over. */
export function makeRecord({ number = 0, startedAt = Date.now(), text = "" }): EpisodeRecord {
  const result = { observation: { text }, reward: 1, done: true, ms: 1 };
  const shared = { environment: "counter_env", url: "", started_at: new Date(startedAt).toISOString() };
  const start = { ...result, reward: null, done: false };
  const steps = [{ action: {}, ...result }];
  const reset = { seed: number };
  return { format: EPISODE_FORMAT, episode: number, ...shared, reset, start, steps, total_reward: 1, end: "done" };
}
