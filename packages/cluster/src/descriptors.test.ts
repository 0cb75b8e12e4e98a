import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { serverDescriptors } from "../../../test-support/commands/processes.js";
import { fetchAsOperator } from "../../../test-support/operator.js";
import { openAll, RESET, startCluster, step, until, untilAllKnow } from "../../../test-support/servers/cluster.js";
import { openTestSocket, type TestSocket } from "../../../test-support/sockets/socket.js";
import { cpuSeconds } from "../../bench/src/measure.js";

const LIMIT = 256;
/** More than a worker reserves for itself, fewer than sessions leave for requests. */
const KEPT = 12;
const OUT = /"limit":256,"refused":\d+,"msg":"out of file descriptors[^"]*ulimit -n[^"]*MAX_CONCURRENT_ENVS"/g;

describe.skipIf(!existsSync("/proc/self/fd"))("a server with a low limit on file descriptors", () => {
  /** The share of CPU time that the busiest of its processes uses. */
  async function busiest(url: string): Promise<number> {
    const spent = () => serverDescriptors(url).map(({ pid }) => cpuSeconds(pid));
    const [before, since] = [spent(), performance.now()];
    await sleep(1_000);
    const seconds = (performance.now() - since) / 1000;
    return Math.max(...spent().map((cpu, index) => (cpu - (before[index] ?? 0)) / seconds));
  }

  test.each([1, 2])(
    "of %i workers rejects connections beyond the limit, serves the others, and recovers",
    async (workers) => {
      const since = performance.now();
      await using cluster = await startCluster(
        { WORKERS: String(workers), MAX_CONCURRENT_ENVS: "1000" },
        { openFiles: LIMIT },
      );
      const [before] = await Promise.all([
        serverDescriptors(cluster.url),
        cluster.command.printed(/the limit on file descriptors is too low/),
      ]);
      const first = await openAll(cluster.url, 4);

      // Idle connections, until no worker has a descriptor left: one may accept more than its share.
      const idle: Socket[] = [];
      const areFull = (): boolean => {
        for (let i = 0; i < LIMIT; i++) {
          const socket = connect(Number(new URL(cluster.url).port), "127.0.0.1");
          idle.push(socket.on("error", () => {}));
        }
        const serving = serverDescriptors(cluster.url).slice(-workers);
        return idle.some(({ closed }) => closed) && serving.every(({ open }) => open > LIMIT - KEPT);
      };
      await expect.poll(areFull, { timeout: 20_000, interval: 300 }).toBe(true);
      await expect(openTestSocket(`${cluster.url}/ws`)).rejects.toThrow(/503|hang up|RESET/);
      for (const { socket } of first)
        expect(await socket.ask(step(1))).toMatchObject({ data: { observation: { count: 1 } } });
      await expect.poll(() => busiest(cluster.url), { timeout: 20_000 }).toBeLessThan(0.5);
      for (const socket of idle) socket.destroy();

      // Sessions up to the last descriptor for sessions.
      const opened: TestSocket[] = [];
      await until(() =>
        serverDescriptors(cluster.url)
          .slice(-workers)
          .every(({ open }) => open < LIMIT / 2),
      );
      for (let i = 0; i < LIMIT * workers; i++) {
        const socket = await openTestSocket(`${cluster.url}/ws`).catch(() => undefined);
        if (socket) opened.push(socket);
      }
      expect(opened.length).toBeGreaterThan(4 * workers);
      expect(opened.length).toBeLessThan(LIMIT * workers - 1);
      for (const socket of opened) expect(await socket.ask(RESET)).toMatchObject({ type: "observation" });
      expect((await fetch(`${cluster.url}/health`)).status).toBe(200);
      const lines = cluster.command.stderr.match(OUT)?.length ?? 0;
      expect(lines).toBeGreaterThanOrEqual(1);
      // One line for each of three bursts, and again after ten seconds.
      expect(lines).toBeLessThanOrEqual(workers * (3 + Math.ceil((performance.now() - since) / 10_000)));

      for (const socket of [...opened, ...first.map((session) => session.socket)]) await socket[Symbol.asyncDispose]();
      await untilAllKnow(cluster.url, { active_sessions: 0 });
      expect(await openAll(cluster.url, 4)).toHaveLength(4);
      expect(serverDescriptors(cluster.url).map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid));
    },
    180_000,
  );

  /** Sends a request over a connection that stays open, unless the server closes it without an answer. */
  async function isAnswered(socket: Socket): Promise<boolean> {
    socket.write("GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    return await new Promise((resolve) => {
      socket.once("data", () => resolve(true)).once("close", () => resolve(false));
    });
  }

  test.each([1, 2])(
    "of %i workers counts each rejection once, in /metrics and in its log",
    async (workers) => {
      const cluster = await startCluster({ WORKERS: String(workers) }, { openFiles: LIMIT });
      const sockets = Array.from({ length: workers * LIMIT + 100 }, () => {
        return connect(Number(new URL(cluster.url).port), "127.0.0.1").on("error", () => {});
      });
      const answers = await Promise.all(sockets.map(isAnswered));
      let refused = answers.filter((answered) => !answered).length;
      expect(refused).toBeGreaterThan(50);
      for (let i = 0; i < 20; i++) {
        const socket = await openTestSocket(`${cluster.url}/ws`).catch(() => undefined);
        if (socket === undefined) refused++;
        await socket?.[Symbol.asyncDispose]();
      }
      for (const socket of sockets) socket.destroy();
      const counted = async (): Promise<number> => {
        const text = await fetchAsOperator(`${cluster.url}/metrics`, { connection: "close" })
          .then((answer) => answer.text())
          .catch(() => void refused++);
        const series = (text ?? "").matchAll(/^openenv_rejections_total\{.*reason="descriptors"\} (\d+)$/gm);
        return [...series].reduce((sum, [, count]) => sum + Number(count), 0);
      };
      await until(async () => (await counted()) === refused);
      await cluster[Symbol.asyncDispose]();
      const counts = [...cluster.command.stderr.matchAll(/"refused":(\d+),"msg":"out of file descriptors/g)];
      expect(counts.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(refused);
    },
    60_000,
  );
});
