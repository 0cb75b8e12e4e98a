import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { fetchAsOperator } from "../../../test-support/operator.js";
import { startGateway } from "../../../test-support/proxies/gateway.js";
import { RESET, startCluster, step } from "../../../test-support/servers/cluster.js";
import { openTestSocket, type TestSocket } from "../../../test-support/sockets/socket.js";

const NAMES = Array.from({ length: 8 }, (_, index) => `name-of-session-${index}`);

interface Answer {
  data: { observation: { pid: number; count: number }; message: string; openenv_code: string };
}

test("connections and requests of an address reach the worker that has its session", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4" });
  await using gateway = await startGateway(cluster, "passes");
  const ask = async (name: string, message: object): Promise<Answer> => {
    // Not disposed: a socket that closes detaches, and the gateway cuts it.
    const socket = await openTestSocket(`${gateway.url}/session/${name}/ws`);
    return (await socket.ask(message as Record<string, unknown>)) as unknown as Answer;
  };
  const begun = await Promise.all(NAMES.map((name) => ask(name, RESET)));
  const pids = begun.map(({ data }) => data.observation.pid);
  expect(new Set(pids).size).toBe(2);
  for (let round = 1; round <= 3; round++) {
    gateway.cut();
    const answers = await Promise.all(NAMES.map((name) => ask(name, step(1))));
    expect(answers.map(({ data }) => [data.observation.pid, data.observation.count])).toEqual(
      pids.map((pid) => [pid, round]),
    );
  }
  const init = { method: "POST", headers: { "content-type": "application/json", connection: "close" } };
  for (const [index, name] of NAMES.entries()) {
    const body = JSON.stringify({ action: { amount: 1 } });
    const response = await fetch(`${cluster.url}/session/${name}/step`, { ...init, body });
    expect(await response.json()).toMatchObject({ observation: { pid: pids[index], count: 4 } });
  }
  // A worker that does not answer within a second is omitted.
  const listed = async () =>
    ((await (await fetchAsOperator(`${cluster.url}/sessions`)).json()) as { sessions: object[] }).sessions;
  await expect.poll(listed).toHaveLength(NAMES.length);
});

test("a name in a header reaches the worker that has its session; the log has neither name nor a second warning", {
  timeout: 120_000,
}, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4" });
  const named = (name: string) => ({ "x-openenv-session-id": name });
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const init = { method: "POST", headers: { ...headers, connection: "close" }, body: JSON.stringify(body) };
    return (await (await fetch(cluster.url + path, init)).json()) as Answer["data"];
  };
  const begun = await Promise.all(NAMES.map((name) => post("/reset", {}, named(name))));
  const pids = begun.map(({ observation }) => observation.pid);
  expect(new Set(pids).size).toBe(2);
  for (let round = 1; round <= 3; round++) {
    const answers = await Promise.all(NAMES.map((name) => post("/step", { action: { amount: 1 } }, named(name))));
    expect(answers.map(({ observation }) => [observation.pid, observation.count])).toEqual(
      pids.map((pid) => [pid, round]),
    );
  }
  for (const [index, name] of NAMES.entries()) {
    await using socket = await openTestSocket(`${cluster.url}/ws`, { headers: named(name) });
    const { data } = (await socket.ask(step(1))) as unknown as Answer;
    expect([data.observation.pid, data.observation.count]).toEqual([pids[index], 4]);
  }
  for (let sent = 0; sent < 12; sent++) await post("/step", { action: { amount: 1 } });
  const warnings = (): string[] =>
    cluster.command.stderr.split("\n").filter((line) => line.includes("a request without a session"));
  await expect.poll(() => warnings().length).toBeGreaterThan(0);
  expect(warnings()[0]).toMatch(/"client":"(::ffff:)?127\.0\.0\.1".*openenv-session.*X-OpenEnv-Session-Id/);
  // Each worker warns once.
  expect(warnings().length).toBeLessThanOrEqual(2);
  for (const name of NAMES) expect(cluster.command.stderr).not.toContain(name);
});

test("with a journal, an address whose worker was killed continues in another one", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "16", JOURNAL: "sessions.db" });
  const open = (name: string) => openTestSocket(`${cluster.url}/session/${name}/ws`);
  const begun = await Promise.all(
    NAMES.map(async (name) => {
      const socket = await open(name);
      await socket.ask(RESET);
      const { data } = (await socket.ask(step(2))) as unknown as Answer;
      return { name, socket, pid: data.observation.pid };
    }),
  );
  const killed = begun[0]?.pid as number;
  process.kill(killed, "SIGKILL");
  for (const { name, socket, pid } of begun) {
    const step1 = async (on: TestSocket): Promise<number> =>
      ((await on.ask(step(1))) as unknown as Answer).data.observation.count;
    if (pid !== killed) {
      expect(await step1(socket)).toBe(3);
      continue;
    }
    await socket.closed;
    // Until the supervisor knows that the worker has ended, it may send the connection there.
    await expect.poll(() => open(name).then(step1).catch(String), { timeout: 20_000 }).toBe(3);
  }
});

test("with a journal, addresses continue in the workers that replace theirs on SIGHUP", {
  timeout: 120_000,
}, async () => {
  const settings = { WORKERS: "2", MAX_CONCURRENT_ENVS: "16", JOURNAL: "sessions.db", SHUTDOWN_GRACE: "60" };
  await using cluster = await startCluster(settings);
  const ask = async (name: string, message: Record<string, unknown>): Promise<Answer["data"]["observation"]> => {
    await using socket = await openTestSocket(`${cluster.url}/session/${name}/ws`);
    return ((await socket.ask(message)) as unknown as Answer).data.observation;
  };
  const old = new Set<number>();
  for (const name of NAMES) {
    await ask(name, RESET);
    old.add((await ask(name, step(2))).pid);
  }
  cluster.command.process.kill("SIGHUP");
  for (const name of NAMES) {
    const isMoved = (): Promise<boolean> =>
      ask(name, step(0)).then(
        ({ pid }) => !old.has(pid),
        () => false,
      );
    await expect.poll(isMoved, { timeout: 60_000 }).toBe(true);
    expect((await ask(name, step(1))).count).toBe(3);
  }
});

test("an address whose worker has ended is lost until the next reset", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "16" });
  const open = () => openTestSocket(`${cluster.url}/session/${NAMES[0]}/ws`);
  await using socket = await open();
  await socket.ask(RESET);
  socket.send(step(13));
  await socket.closed;
  const stepOnce = async (): Promise<[TestSocket, Answer["data"]]> => {
    const next = await open();
    return [next, ((await next.ask(step(1))) as unknown as Answer).data];
  };
  // Until the supervisor knows that the worker has ended, it may send the connection there.
  const [next, data] = await vi.waitFor(stepOnce, { timeout: 20_000, interval: 50 });
  await using _ = next;
  expect(data).toMatchObject({ openenv_code: "NO_EPISODE", message: expect.stringContaining("with its worker") });
  expect(((await next.ask(RESET)) as unknown as Answer).data.observation.count).toBe(0);
});

test("an address is lost with a worker that hangs, before its process has ended", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "16", WORKER_TIMEOUT: "4" });
  const ask = async (message: object): Promise<Answer["data"]> => {
    const socket = await openTestSocket(`${cluster.url}/session/${NAMES[0]}/ws`);
    return ((await socket.ask(message as Record<string, unknown>)) as unknown as Answer).data;
  };
  const { observation } = await ask(RESET);
  process.kill(observation.pid, "SIGSTOP");
  const answers: Answer["data"][] = [];
  const answered = (): number => {
    // A connection that is handed to the worker that hangs is not answered.
    ask(step(1)).then(
      (data) => answers.push(data),
      () => {},
    );
    return answers.length;
  };
  await expect.poll(answered, { interval: 50, timeout: 60_000 }).toBeGreaterThan(0);
  expect(answers[0]?.message).toContain("was lost with its worker");
});

test("a connection on its way to a worker that is killed does not hang", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4" });
  const begun = await Promise.all(
    NAMES.map(async (name) => {
      await using socket = await openTestSocket(`${cluster.url}/session/${name}/ws`);
      const { data } = (await socket.ask(RESET)) as unknown as Answer;
      return { name, pid: data.observation.pid };
    }),
  );
  const stopped = begun[0]?.pid as number;
  process.kill(stopped, "SIGSTOP");
  const there = begun.filter(({ pid }) => pid === stopped);
  const connecting = [...there, ...there, ...there].map(({ name }) => {
    const ws = new WebSocket(`${cluster.url.replace("http", "ws")}/session/${name}/ws`);
    return new Promise<void>((resolve) => {
      ws.once("error", () => resolve());
      ws.once("open", () => {
        ws.terminate();
        resolve();
      });
    });
  });
  // The other worker has passed them on.
  await sleep(500);
  process.kill(stopped, "SIGKILL");
  await Promise.all(connecting);
});
