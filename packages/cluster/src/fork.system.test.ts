import { expect, test } from "vitest";
import { openAtBothWorkers, startCluster, WHERE } from "../../../test-support/servers/cluster.js";

/** All copies together take longer than a worker may be silent. */
const RESTORE_MS = 60;
const COPIES = 99;
const WORKER_TIMEOUT = "4";

test("a worker that makes 99 slow copies answers its other sessions, and its supervisor does not replace it", {
  timeout: 180_000,
}, async () => {
  const restored = "count = saved;";
  const wait = `for (const end = performance.now() + ${RESTORE_MS}; performance.now() < end; );`;
  expect(WHERE).toContain(restored);
  const environment = WHERE.replace(restored, `${wait} ${restored}`);
  const variables = { WORKERS: "2", WORKER_TIMEOUT, MAX_CONCURRENT_ENVS: "120" };
  await using cluster = await startCluster(variables, { environment });
  const opened = await openAtBothWorkers(cluster.url);
  const byWorker = (pid: number) => opened.filter((one) => one.pid === pid);
  const [source, other] = opened.map(({ pid }) => byWorker(pid)).find(({ length }) => length > 1) ?? [];
  let isDone = false;
  const copying = source?.env.fork(COPIES).finally(() => (isDone = true));
  let steps = 0;
  for (; !isDone; steps++) await other?.env.step({ amount: 1 });
  // A step takes a few turns of the event loop, and each turn makes one copy.
  expect(steps).toBeGreaterThan(COPIES / 10);
  const copies = (await copying) ?? [];
  const answers = await Promise.all(copies.map((copy) => copy.step({ amount: 1 })));
  expect(answers.map(({ observation }) => observation["pid"])).toEqual(Array(COPIES).fill(source?.pid));
  expect(cluster.command.stderr).not.toMatch(/worker does not respond|worker exited/);
  await Promise.all([...copies, ...opened.map(({ env }) => env)].map((env) => env.close()));
});
