import { expect, test } from "vitest";
import { openAtBothWorkers, startCluster } from "../../../test-support/servers/cluster.js";

test("the worker that has a session makes its copies", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "16" });
  const opened = await openAtBothWorkers(cluster.url);
  for (const [nth, { env, pid }] of opened.entries()) {
    await env.step({ amount: nth });
    const [copy] = await env.fork(1);
    expect((await copy?.step({ amount: 20 }))?.observation).toMatchObject({ pid, count: nth + 20 });
    await copy?.close();
  }
  await Promise.all(opened.map(({ env }) => env.close()));
});
