import { expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { startGateway } from "../../../test-support/proxies/gateway.js";
import { startCluster } from "../../../test-support/servers/cluster.js";

test("a client resumes its session at the worker that has it", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4" });
  await using gateway = await startGateway(cluster, "passes");
  const open = () => connect(gateway.url, { resume: true });
  const envs = await Promise.all(Array.from({ length: 8 }, open));
  const pids = await Promise.all(envs.map(async (env) => (await env.reset()).observation["pid"]));
  for (let round = 1; round <= 3; round++) {
    gateway.cut();
    const results = await Promise.all(envs.map((env) => env.step({ amount: 1 })));
    expect(results.map(({ observation, recovered }) => [observation["pid"], observation["count"], recovered])).toEqual(
      pids.map((pid) => [pid, round, true]),
    );
  }
  expect(new Set(pids).size).toBe(2);
  await Promise.all(envs.map((env) => env.close()));
});

test("a client whose worker has ended gets an error that says so", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "16" });
  await using env = await connect(cluster.url, { resume: true });
  await env.reset();
  const lost = await env.tryStep({ amount: 13 });
  expect(lost).toMatchObject({ outcome: "lost", reward: null, error: { code: "SESSION_LOST" } });
  expect((await env.reset()).observation["count"]).toBe(0);
});
