import { expect, test } from "vitest";
import { startCluster } from "../../../../test-support/servers/cluster.js";
import { connect } from "../connect.js";

test("the worker that has a session makes its copies", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "16" });
  const open = () => connect(cluster.url, { resume: true });
  const envs = await Promise.all(Array.from({ length: 8 }, open));
  const pids = await Promise.all(envs.map(async (env) => (await env.reset()).observation["pid"]));
  expect(new Set(pids).size).toBe(2);
  for (const [nth, env] of envs.entries()) {
    await env.step({ amount: nth });
    const [copy] = await env.fork(1);
    expect((await copy?.step({ amount: 20 }))?.observation).toMatchObject({ pid: pids[nth], count: nth + 20 });
    await copy?.close();
  }
  await Promise.all(envs.map((env) => env.close()));
});
