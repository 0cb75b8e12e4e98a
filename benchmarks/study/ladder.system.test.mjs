import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readResults } from "@openenv-ts/bench";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startCluster } from "../harness/clusters.mjs";
import { climb } from "./ladder.mjs";

let dir;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "openenv-ladder-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("a ladder ends with the first batch that fails; each batch has a new server and its repetitions", {
  timeout: 120_000,
}, async () => {
  const urls = [];
  const start = async () => {
    const server = await startCluster("node", { env: { MAX_CONCURRENT_ENVS: "4" } });
    urls.push(server.url);
    return server;
  };
  await climb({ wait: 1, batches: [16, 4, 8], reps: 2 }, { timeout: 20, start, dir });
  expect(urls).toHaveLength(2);
  const { bursts } = readResults([dir]);
  const rows = bursts.filter(({ rep }) => rep !== "first");
  expect(rows.map(({ requests, rep, succeeded, subject }) => [requests, rep, succeeded, subject])).toEqual([
    ...[1, 2].map((rep) => [4, rep, 4, expect.any(String)]),
    [4, "all", 8, rows[0].subject],
    ...[1, 2].map((rep) => [8, rep, 4, rows[0].subject]),
    [8, "all", 8, rows[0].subject],
  ]);
});
