import { describe, expect, test, vi } from "vitest";
import type { ServerView } from "#core/protocol/web.js";
import { fetchAsOperator, OPERATOR_TOKEN } from "../../../test-support/operator.js";
import { openAll, startCluster, step, until, untilAllKnow } from "../../../test-support/servers/cluster.js";

/** A worker that does not answer within a second is reported as silent. */
const SOON = { timeout: 10_000, interval: 100 };

describe("workers behind one address", () => {
  test("list and search their sessions together, longest calls first", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4" });
    const view = async (query: string) =>
      (await (await fetchAsOperator(`${cluster.url}/web/server?${query}`)).json()) as ServerView;
    const players = await openAll(cluster.url, 6);
    // The player at index n has made n steps.
    for (const [steps, { socket }] of players.entries()) {
      for (let made = 0; made < steps; made++) await socket.ask(step(1));
    }
    const listed = async (query: string) => {
      const { sessions, found_sessions, workers } = await view(query);
      expect(workers).toHaveLength(2);
      return [sessions.map(({ step_count }) => step_count), found_sessions];
    };
    await vi.waitFor(async () => expect(await listed("sort=step")).toEqual([[5, 4, 3, 2, 1, 0], 6]), SOON);
    await vi.waitFor(async () => expect(await listed("sort=step&order=asc&limit=3")).toEqual([[0, 1, 2], 6]), SOON);
    const pids = [...new Set(players.map(({ pid }) => pid))];
    expect(pids).toHaveLength(2);
    const own = pids.map((pid) => players.flatMap((player, steps) => (player.pid === pid ? [steps] : [])));
    await vi.waitFor(async () => {
      const found = await Promise.all([
        listed("sort=step&order=asc&find=worker%200"),
        listed("sort=step&order=asc&find=worker%201"),
      ]);
      expect(found.sort()).toEqual(own.map((steps) => [steps, steps.length]).sort());
    }, SOON);
    // One endless call in each worker: the first is the longest.
    const slow = own.map((steps) => steps.at(-1) ?? 0);
    for (const at of slow) {
      players[at]?.socket.send(step(15));
      await until(async () =>
        (await view("")).sessions.some(({ step_count, busy_s }) => step_count === at && busy_s !== null),
      );
    }
    await vi.waitFor(async () => expect(await listed("find=in%20a%20call")).toEqual([slow, 2]), SOON);
    await vi.waitFor(async () => {
      expect(await listed("find=in%20a%20call&limit=1")).toEqual([slow.slice(0, 1), 2]);
      expect(await listed("limit=2")).toEqual([slow, 6]);
    }, SOON);
    for (const { socket } of players) await socket[Symbol.asyncDispose]();
  }, 120_000);

  test("are reported as silent, with their sessions, while a call blocks them", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4", WORKER_TIMEOUT: "60" });
    let seen: ServerView | undefined;
    // The connection may go to the blocked worker.
    const look = async () => {
      const headers = { connection: "close", authorization: `Bearer ${OPERATOR_TOKEN}` };
      const signal = AbortSignal.timeout(5_000);
      const read = async (response: Response) => (response.ok ? ((await response.json()) as ServerView) : undefined);
      seen = await fetch(`${cluster.url}/web/server`, { headers, signal })
        .then(read)
        .catch(() => undefined);
      return `${seen?.workers.length} ${seen?.silent_workers.length}`;
    };
    const players = await openAll(cluster.url, 6);
    const { pid, socket } = players[0] as (typeof players)[number];
    const own = players.filter((player) => player.pid === pid).length;
    expect(own).toBeLessThan(6);
    // A blocked worker does not report the sessions that it has just opened.
    await untilAllKnow(cluster.url, { active_sessions: 6 });
    socket.send(step(14));
    await until(async () => (await look()) === "1 1");
    expect(seen).toMatchObject({
      capacity: { active_sessions: 6, max_sessions: 8 },
      silent_workers: [{ pid, sessions: own, max_sessions: 4, silent_s: expect.any(Number) }],
      found_sessions: 6 - own,
      restarts: 0,
    });
    expect(seen?.silent_workers[0]?.silent_s).toBeGreaterThan(0.9);
    expect(seen?.workers.map((worker) => worker.pid)).toEqual([players.find((player) => player.pid !== pid)?.pid]);
    expect(seen?.sessions.filter(({ worker }) => worker === seen?.silent_workers[0]?.worker)).toEqual([]);
    process.kill(pid, "SIGKILL");
    await until(async () => (await look()) === "2 0");
    expect(seen?.restarts).toBe(1);
  }, 120_000);
});
