import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject } from "../../../test-support/commands/command-line.js";
import { fetchAsOperator } from "../../../test-support/operator.js";
import { openAll, RESET, startCluster, until, untilAllKnow } from "../../../test-support/servers/cluster.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

test("workers close silent sockets when other clients need their slots, and not before", {
  timeout: 120_000,
}, async () => {
  await using project = await createProject();
  const later = join(project.dir, "later");
  await using cluster = await startCluster({
    WORKERS: "2",
    MAX_CONCURRENT_ENVS: "2",
    NODE_OPTIONS: passWith(later, 10_500),
  });
  const { url } = cluster;
  const [busy] = await openAll(url, 1);
  const silent = await Promise.all(Array.from({ length: 3 }, () => openTestSocket(`${url}/ws`)));
  const closed: { code: number }[] = [];
  for (const { closed: end } of silent) void end.then((how) => closed.push(how));

  const full = await openTestSocket(`${url}/ws`);
  expect(await full.receive()).toMatchObject({ data: { code: "CAPACITY_REACHED" } });
  expect(closed).toEqual([]);

  await writeFile(later, "");
  const served: unknown[] = [];
  await until(async () => {
    const socket = await openTestSocket(`${url}/ws`);
    const answer = await socket.ask(RESET).catch(() => undefined);
    if (answer?.["type"] === "observation") served.push(socket);
    return served.length === 3;
  });
  await until(() => closed.length === 3);
  expect(closed.map(({ code }) => code)).toEqual([4000, 4000, 4000]);
  const refused = await openTestSocket(`${url}/ws`);
  expect(await refused.receive()).toMatchObject({ data: { code: "CAPACITY_REACHED" } });
  expect(await busy?.socket.ask(RESET)).toMatchObject({ type: "observation" });
});

test("workers count a session of POST /reset as load when it is used, and one of openenv/session/create at once", {
  timeout: 120_000,
}, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "2" });
  /** The number of sessions and of sessions in use; undefined while a worker does not answer in time. */
  const count = async (): Promise<[sessions: number, inUse: number] | undefined> => {
    const text = await (await fetchAsOperator(`${cluster.url}/metrics`)).text();
    const gauge = (name: string): number[] =>
      [...text.matchAll(new RegExp(`^${name}\\{worker="\\d+"\\} (\\d+)$`, "gm"))].map(([, value]) => Number(value));
    const [all, unclaimed] = [gauge("openenv_sessions"), gauge("openenv_sessions_unclaimed")].map((values) =>
      values.reduce((sum, value) => sum + value, 0),
    ) as [number, number];
    return gauge("openenv_sessions").length === 2 ? [all, all - unclaimed] : undefined;
  };

  let last = "";
  for (let i = 0; i < 8; i++) last = await request(cluster.url, "/reset");
  await untilAllKnow(cluster.url, { available_slots: 4, is_at_capacity: false });
  await expect.poll(count).toEqual([expect.toSatisfy((sessions: number) => sessions > 1), 0]);
  await request(cluster.url, "/step", { body: { action: { amount: 1 } }, session: last });
  await untilAllKnow(cluster.url, { available_slots: 3, is_at_capacity: false });
  await expect.poll(count).toEqual([expect.any(Number), 1]);

  const create = { jsonrpc: "2.0", id: 1, method: "openenv/session/create", params: {} };
  await until(async () => {
    await request(cluster.url, "/mcp", { body: create });
    return (await count())?.[1] === 4;
  });
  await untilAllKnow(cluster.url, { available_slots: 0, is_at_capacity: true });
});

/** Sends a request on a new connection, which any worker may accept. Returns the session of the answer. */
async function request(url: string, path: string, { body = {}, session }: { body?: object; session?: string } = {}) {
  const headers = { "content-type": "application/json", connection: "close" };
  const answer = await fetch(url + path, {
    headers: { ...headers, ...(session && { "openenv-session": session }) },
    ...(path !== "/state" && { method: "POST", body: JSON.stringify(body) }),
  });
  await answer.text();
  return answer.headers.get("openenv-session") ?? "";
}

/** For a process and its children, this many milliseconds have passed once the file exists. */
function passWith(file: string, ms: number): string {
  const code = `
    import { existsSync } from "node:fs";
    const real = performance.now.bind(performance);
    performance.now = () => real() + (existsSync(${JSON.stringify(file)}) ? ${ms} : 0);`;
  return `--import data:text/javascript,${encodeURIComponent(code)}`;
}

test("every worker knows which idle HTTP sessions of the others can be closed for new ones", {
  timeout: 120_000,
}, async () => {
  await using project = await createProject();
  const later = join(project.dir, "later");
  await using cluster = await startCluster({
    WORKERS: "2",
    MAX_CONCURRENT_ENVS: "1",
    NODE_OPTIONS: passWith(later, 300_500),
  });
  const [first, second] = [await request(cluster.url, "/reset"), await request(cluster.url, "/reset")];
  for (const session of [first, second]) await request(cluster.url, "/state", { session: session });
  await untilAllKnow(cluster.url, { available_slots: 0 });
  expect(await request(cluster.url, "/reset")).toBe("none");

  await writeFile(later, "");
  await untilAllKnow(cluster.url, { available_slots: 2 });
  await request(cluster.url, "/state", { session: first });
  const prefix = second.split("-")[0];
  for (let i = 0; i < 4; i++) {
    await untilAllKnow(cluster.url, { available_slots: 1 });
    expect(await request(cluster.url, "/reset")).toMatch(new RegExp(`^${prefix}-`));
  }
});
