import { describe, expect, test, vi } from "vitest";
import type { ServerView } from "#core/protocol/web.js";
import { fetchAsOperator } from "../../../test-support/operator.js";
import { openAll, startCluster, step, until } from "../../../test-support/servers/cluster.js";

/** A worker that does not answer within a second is reported as silent. */
const SOON = { timeout: 10_000, interval: 100 };

describe("workers behind one address", () => {
  test("are reported together by any of them", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4", QUEUE_SIZE: "3" });
    const view = async () => (await (await fetchAsOperator(`${cluster.url}/web/server`)).json()) as ServerView;
    const players = await openAll(cluster.url, 6);
    for (const { socket } of players) for (let i = 0; i < 5; i++) await socket.ask(step(1));
    await players[0]?.socket.ask({ type: "step", data: {} });
    const look = async () => {
      const seen = await view();
      expect(seen.workers).toHaveLength(2);
      expect(new Set(seen.workers.map(({ pid }) => pid))).toEqual(new Set(players.map(({ pid }) => pid)));
      expect(seen).toMatchObject({
        capacity: { active_sessions: 6, max_sessions: 8 },
        steps: 30,
        queue_size: 6,
        errors: { VALIDATION_ERROR: 1 },
        restarts: 0,
      });
      expect(seen.sessions).toHaveLength(6);
      for (const { worker, sessions, sockets } of seen.workers) {
        expect(seen.sessions.filter((session) => session.worker === worker)).toHaveLength(sessions);
        expect(sockets).toBe(sessions);
      }
      expect(seen.recent_errors[0]?.session_id).toMatch(new RegExp(`^w${seen.recent_errors[0]?.worker}-`));
    };
    for (let asked = 0; asked < 4; asked++) await vi.waitFor(look, SOON);
    await vi.waitFor(async () => {
      const text = await (await fetchAsOperator(`${cluster.url}/metrics`)).text();
      const steps = [...text.matchAll(/^openenv_steps_total\{worker="(\d+)"\} (\d+)$/gm)];
      expect(steps.map(([, worker]) => worker)).toEqual(["0", "1"]);
      expect(steps.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(30);
      expect(text).toContain("openenv_workers 2");
    }, SOON);
    for (const { socket } of players) await socket[Symbol.asyncDispose]();
  }, 120_000);

  test("are reported when they are lost and replaced", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4" });
    const view = async () => (await (await fetchAsOperator(`${cluster.url}/web/server`)).json()) as ServerView;
    const [player] = await openAll(cluster.url, 1);
    player?.socket.send(step(13));
    await player?.socket.closed;
    await until(async () => {
      const { workers, restarts } = await view();
      return restarts === 1 && workers.length === 2;
    });
    await vi.waitFor(async () => {
      const { recent_errors, errors } = await view();
      expect(recent_errors).toMatchObject([{ code: "WORKER_LOST", session_id: null }]);
      expect(recent_errors[0]?.message).toMatch(
        /^Worker \d exited \(exit code 1\) and is being replaced; it had \d sessions?\.$/,
      );
      expect(errors).toEqual({});
    }, SOON);
    await vi.waitFor(async () => {
      const text = await (await fetchAsOperator(`${cluster.url}/metrics`)).text();
      expect(text).toContain("openenv_worker_restarts_total 1");
    }, SOON);
  }, 120_000);
});
