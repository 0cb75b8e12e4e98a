import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { EpisodeRow, RolloutDetail, RolloutFacets, RolloutPage } from "#core/protocol/rollouts.js";
import { useServers } from "../../../test-support/servers/servers.js";

// Each starts servers and sockets, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "openenv-rollouts-"));
  folders.push(folder);
  return join(folder, "data");
}

async function get<T>(url: string, headers: Record<string, string> = {}): Promise<T> {
  const answer = await fetch(url, { headers });
  expect([answer.status, answer.status === 200 ? "" : await answer.clone().text()]).toEqual([200, ""]);
  return (await answer.json()) as T;
}

/** The rows, when there are as many as expected. */
async function rowsOf(url: string, count: number, query = ""): Promise<EpisodeRow[]> {
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

describe("a server with a store", () => {
  test("records an episode of a socket", async () => {
    const { url, ...server } = await start({ store: makeFolder() });
    const socket = await open({ url, ...server });
    const metadata = { run: "grpo-17", policy_step: 40, group: "task-12", labels: { model: "small", try: 2 } };
    await socket.ask({ type: "reset", data: { seed: 7, start: 2, metadata } });
    await socket.ask({ type: "step", data: { amount: 3 } });
    await socket.ask({ type: "step", data: { amount: 13 } });
    await socket.ask({ type: "step", data: { amount: 5 } });
    socket.ws.close();
    const [row] = await rowsOf(url, 1);
    expect(row).toMatchObject({
      ...{ run: "grpo-17", policy: 40, group: "task-12", labels: { model: "small", try: "2" }, seed: 7 },
      ...{ env: "counter_env", outcome: "done", steps: 3, reward: 8, link: `#/rollouts/${row?.id}` },
      error: { text: "unlucky amount", fault: "environment" },
      strip: [
        { r: 3, x: 0 },
        { r: null, x: 1 },
        { r: 5, x: 0 },
      ],
    });
    const detail = await get<RolloutDetail>(`${url}/rollouts/${row?.id}`);
    expect(detail).toMatchObject({ complete: true, eventCount: 4, similar: 1, reset: { seed: 7, start: 2, metadata } });
    expect(detail.events.map(({ type, reward, error }) => [type, reward, error?.code])).toEqual([
      ["reset", null, undefined],
      ["step", 3, undefined],
      ["step", null, "EXECUTION_ERROR"],
      ["step", 5, undefined],
    ]);
    expect(detail.events[3]?.answer).toMatchObject({ observation: { count: 10 }, reward: 5, done: true });
    const facets = await get<RolloutFacets>(`${url}/rollouts/facets?q=run:grpo-17`);
    expect(facets).toMatchObject({ total: 1, matching: 1, outcomes: { done: { all: 1, matching: 1 } } });
  });
});
