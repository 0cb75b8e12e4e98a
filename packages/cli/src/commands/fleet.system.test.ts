import { expect, test, vi } from "vitest";
import { callCommand, startCommand } from "../../../../test-support/commands/command-line.js";
import { startRedis } from "../../../../test-support/journals/redis.js";
import { OPERATOR_TOKEN } from "../../../../test-support/operator.js";
import { requireRedis } from "../../../../test-support/requirement.js";
import { openAll, startCluster, step, until, untilAllKnow } from "../../../../test-support/servers/cluster.js";

/** Each starts several processes. */
vi.setConfig({ testTimeout: 120_000 });

const redis = await requireRedis();

async function fleet(name: string, urls: readonly string[], ...more: string[]) {
  const args = ["fleet", name, ...urls.flatMap((url) => ["--url", url]), "--json", ...more];
  const env = { OPENENV_TOKEN: OPERATOR_TOKEN };
  const { code, stdout, stderr } = await callCommand(args, { cwd: import.meta.dirname, env });
  return { code, rows: JSON.parse(stdout) as Record<string, unknown>[], stderr };
}

test("servers with several workers are drained, resumed, drained and stopped", async () => {
  await using one = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4" });
  await using two = await startCluster({ MAX_CONCURRENT_ENVS: "3" });
  const urls = [one.url, two.url];
  const players = await openAll(one.url, 6);
  const late = await fleet("drain", urls, "--timeout", "0");
  expect(late).toMatchObject({
    code: 3,
    rows: [
      { in_use: 6, max_sessions: 8 },
      { in_use: 0, max_sessions: 3 },
    ],
  });
  for (const { socket } of players) await socket.ask(step(1));
  expect(await fleet("resume", urls)).toMatchObject({ code: 0, rows: [{ paused: false }, { paused: false }] });
  const drained = fleet("drain", urls);
  for (const { socket } of players) socket.ws.terminate();
  expect(await drained).toMatchObject({
    code: 0,
    rows: [
      { in_use: 0, paused: true },
      { in_use: 0, paused: true },
    ],
  });
  one.command.process.kill("SIGTERM");
  expect(await one.command.exited).toBe(0);
  const { code, rows } = await fleet("status", urls);
  expect([code, rows]).toMatchObject([1, [{ error: { code: "CONNECTION_FAILED" } }, { paused: true }]]);
});

test("a server stays paused when the command that drains it is interrupted", async () => {
  await using server = await startCluster({ MAX_CONCURRENT_ENVS: "2" });
  const [player] = await openAll(server.url, 1);
  const env = { OPENENV_TOKEN: OPERATOR_TOKEN };
  await using command = startCommand(["fleet", "drain", "--url", server.url], { cwd: import.meta.dirname, env });
  const health = async () => (await fetch(`${server.url}/health`)).status;
  await until(async () => (await health()) === 503);
  command.process.kill("SIGINT");
  expect(await command.exited).toBe("SIGINT");
  expect(await health()).toBe(503);
  expect(await player?.socket.ask(step(1))).toMatchObject({ type: "observation" });
  expect((await fleet("resume", [server.url])).code).toBe(0);
});

test("a worker that hangs is counted, and its sessions with it", async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4", WORKER_TIMEOUT: "60" });
  const players = await openAll(cluster.url, 6);
  // A blocked worker does not report the sessions that it has just opened.
  await untilAllKnow(cluster.url, { active_sessions: 6 });
  players[0]?.socket.send(step(14));
  let seen: Awaited<ReturnType<typeof fleet>> | undefined;
  // The connection may go to the blocked worker.
  await until(async () => {
    seen = await fleet("status", [cluster.url]);
    return seen.rows[0]?.["problems"]?.toString() === "silent workers: 1";
  });
  expect(seen).toMatchObject({ code: 1, rows: [{ active_sessions: 6, in_use: 6 }] });
});

test.skipIf(!redis.available)("a journal that is away is unavailable until it is back", async () => {
  await using store = await startRedis(redis.path);
  await using server = await startCluster({ JOURNAL: store.url });
  const journal = async () => (await fleet("status", [server.url])).rows[0]?.["journal"];
  const use = () => fetch(`${server.url}/reset`, { method: "POST", headers: { "openenv-session": "a".repeat(22) } });
  expect(await journal()).toBe("ok");
  await store.stop();
  await until(async () => {
    await use();
    return (await journal()) === "unavailable";
  });
  expect((await fleet("status", [server.url])).code).toBe(1);
  await store.start();
  await until(async () => {
    await use();
    return (await journal()) === "ok";
  });
});
