import { expect, test } from "vitest";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { startCluster } from "../../../../test-support/servers/cluster.js";

const SESSIONS = 16;

const SECRET = "a-secret-of-the-client";

test("requests of a session reach the worker that has it, and no log has its secrets", {
  timeout: 120_000,
}, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "16", LOG_LEVEL: "trace" });
  const secrets = Buffer.from(JSON.stringify({ api_key: { value: SECRET } })).toString("base64");
  const workers = new Set<unknown>();
  // A new connection for each request, which any worker may accept.
  const ors = orsClient(cluster.url, { connection: "close", "x-secrets": secrets, "x-api-key": SECRET });
  const ids: string[] = [];
  // At the latest when one worker is full, the other one has a session.
  while (workers.size < 2 && ids.length < SESSIONS) {
    const id = await ors.open();
    const { json } = await ors.request("GET", "/where_env/prompt", { id });
    workers.add((JSON.parse((json as { text: string }[])[0]?.text ?? "") as { pid: number }).pid);
    ids.push(id);
  }
  const play = async (id: string): Promise<void> => {
    // The worker's environment has a tool: calls of `count` are steps.
    const call = await ors.call(id, "count");
    expect(call.result).toMatchObject({ ok: true, output: { blocks: [{ text: "0" }] } });
    expect((await ors.call(id, "count", {}, { task_id: call.taskId })).text).toBe(call.text);
    expect((await ors.request("POST", "/ping", { id })).status).toBe(200);
    expect((await ors.request("POST", "/delete", { id })).status).toBe(200);
    expect((await ors.request("POST", "/ping", { id })).status).toBe(410);
  };
  await Promise.all(ids.map(play));
  expect(workers.size).toBe(2);
  await expect.poll(async () => (await cluster.capacity()).active_sessions).toBe(0);
  const { command } = cluster;
  await expect.poll(() => command.stderr.match(/session ended/g)?.length).toBe(ids.length);
  for (const secret of [SECRET, secrets]) expect(command.stdout + command.stderr).not.toContain(secret);
});

test("with a journal a session continues in another worker when its own is killed", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", JOURNAL: "sessions.db" });
  const ors = orsClient(cluster.url, { connection: "close" });
  const pidOf = async (id: string): Promise<number> => {
    const { json } = await ors.request("GET", "/where_env/prompt", { id });
    return (JSON.parse((json as { text: string }[])[0]?.text ?? "") as { pid: number }).pid;
  };
  const ids = await Promise.all(Array.from({ length: 4 }, () => ors.open()));
  const [first = 0] = await Promise.all(ids.map(pidOf));
  const calls = await Promise.all(ids.map((id) => ors.call(id, "count")));
  process.kill(first, "SIGKILL");
  // A request that reaches the worker as it ends is refused, and repeated by its client.
  const repeat = (id: string, more: object) => async () => (await ors.call(id, "count", {}, more)).result;
  const counted = { ok: true, output: { blocks: [{ text: "0" }] } };
  for (const [at, id] of ids.entries()) {
    await expect.poll(repeat(id, { task_id: calls[at]?.taskId })).toMatchObject(counted);
    await expect.poll(repeat(id, {})).toMatchObject(counted);
    expect((await ors.request("POST", "/delete", { id })).status).toBe(200);
  }
  await expect.poll(async () => (await cluster.capacity()).active_sessions).toBe(0);
});
