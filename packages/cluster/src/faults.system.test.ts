import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openDescriptors, serverDescriptors } from "../../../test-support/commands/processes.js";
import { openHttp, stepHttp } from "../../../test-support/deploy/balanced-sessions.js";
import { openAll, RESET, startCluster, step, type TestCluster, until } from "../../../test-support/servers/cluster.js";
import { openTestSocket, type TestSocket } from "../../../test-support/sockets/socket.js";

const KILLS = 20;
const WORKERS = 3;
const LANES = 8;
const STEPS = 20;
/** Connections that wait to be accepted, where nobody says how many may. */
const MORE_THAN_NODE_QUEUES = 700;
/** For workers that take their time to start, one after the other. */
const SLOWLY = { timeout: 60_000, interval: 100 };

/** What sessions saw that were played one after the other in several lanes. */
class Load {
  finished = 0;
  /** Processes of sessions that ended early, and how each ended. */
  readonly lost: { pid: number; code: number }[] = [];
  readonly wrong: unknown[] = [];
  /** Processes that opened sessions and were not killed. */
  readonly serving = new Set<number>();
  #stopping = false;
  readonly #lanes: Promise<unknown>;

  constructor(url: string, killed: ReadonlySet<number>) {
    const lane = async (): Promise<void> => {
      while (!this.#stopping) {
        // A handshake that a killed worker had begun says nothing more than that.
        const socket = await openTestSocket(`${url}/ws`).catch(() => undefined);
        if (socket !== undefined) await this.#play(socket, killed);
      }
    };
    this.#lanes = Promise.all(Array.from({ length: LANES }, lane));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#lanes;
  }

  async #play(socket: TestSocket, killed: ReadonlySet<number>): Promise<void> {
    let pid = 0;
    try {
      for (let count = 0; count <= STEPS; count++) {
        const answer = await socket.ask(count === 0 ? RESET : step(1));
        const { observation, reward } = answer["data"] as { observation: Record<string, number>; reward: number };
        pid ||= observation?.["pid"] ?? 0;
        if (observation?.["count"] !== count || observation["pid"] !== pid) this.wrong.push(answer);
        if (count > 0 && reward !== count) this.wrong.push(answer);
        if (!killed.has(pid)) this.serving.add(pid);
        await sleep(5);
      }
      socket.send({ type: "close" });
      await socket.closed;
      this.finished++;
    } catch {
      if (pid > 0) this.lost.push({ pid, code: (await socket.closed).code });
    }
  }
}

const isIdle = async (cluster: TestCluster, max: number): Promise<boolean> => {
  const { active_sessions, max_sessions } = await cluster.capacity();
  return active_sessions === 0 && max_sessions === max;
};

/** Milliseconds after which each worker that was lost was to be replaced. */
function delaysOf({ command }: TestCluster): number[] {
  const lines = command.stderr.matchAll(/"delay":(\d+),"msg":"a worker exited; starting a new one"/g);
  return [...lines].map(([, delay]) => Number(delay));
}

describe.skipIf(!existsSync("/proc/self/fd"))("a server whose workers are killed", () => {
  test(`survives ${KILLS} of them, and loses only the sessions of killed workers`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "faults-"));
    const cluster = await startCluster({ WORKERS: String(WORKERS), MAX_CONCURRENT_ENVS: "100", TMPDIR: folder });
    await Promise.all((await openAll(cluster.url, LANES)).map(({ socket }) => socket[Symbol.asyncDispose]()));
    await until(() => isIdle(cluster, WORKERS * 100));
    const [supervisor, ...workers] = serverDescriptors(cluster.url);
    const ofWorker = Math.max(...workers.map(({ open }) => open));

    const killed = new Set<number>();
    const load = new Load(cluster.url, killed);
    while (killed.size < KILLS) {
      // One that serves: what is killed before it has served waits longer and longer for its successor.
      await until(() => load.serving.size > 1);
      const [pid] = load.serving as Set<number> & Iterable<number>;
      load.serving.delete(pid as number);
      killed.add(pid as number);
      process.kill(pid as number, "SIGKILL");
    }
    await load.stop();

    expect(load.wrong).toEqual([]);
    expect(load.finished).toBeGreaterThan(KILLS);
    expect(load.lost.length).toBeGreaterThan(0);
    expect(load.lost.filter(({ pid, code }) => !killed.has(pid) || code !== 1006)).toEqual([]);
    await until(() => isIdle(cluster, WORKERS * 100));
    await until(() => {
      const now = serverDescriptors(cluster.url);
      return now.length === WORKERS + 1 && now.slice(1).every(({ open }) => open <= ofWorker);
    });
    await until(() => openDescriptors(supervisor?.pid ?? 0) <= (supervisor?.open ?? 0));
    expect((await readdir(join(folder, (await readdir(folder))[0] as string))).length).toBe(WORKERS);

    await cluster[Symbol.asyncDispose]();
    // Its log is whole once it has ended.
    expect(delaysOf(cluster)).toHaveLength(KILLS);
    expect(delaysOf(cluster).filter((ms) => ms > 500)).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
    expect([...killed].filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    await rm(folder, { recursive: true });
  }, 600_000);

  test("waits longer and longer for a worker that cannot start, and serves again as soon as it can", async () => {
    const folder = await mkdtemp(join(tmpdir(), "faults-"));
    const broken = join(folder, "broken");
    await using cluster = await startCluster({ WORKERS: "2", BROKEN: broken });
    const [first] = await openAll(cluster.url, 1);
    await writeFile(broken, "");
    process.kill(first?.pid as number, "SIGKILL");
    // The first has lived: when that was for long, it is replaced at once.
    const growing = () => delaysOf(cluster).filter((ms) => ms > 0);
    await expect.poll(() => growing().length, SLOWLY).toBeGreaterThanOrEqual(5);
    expect(growing().slice(0, 5)).toEqual([100, 200, 400, 800, 1_600]);
    expect(await openAll(cluster.url, 4)).toHaveLength(4);
    await rm(broken);
    await expect.poll(() => cluster.capacity(), SLOWLY).toMatchObject({ max_sessions: 200 });
    await rm(folder, { recursive: true });
  }, 180_000);

  test("kills a worker that hangs while it starts: the next one may serve, and nothing waits for it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "faults-"));
    const stuck = join(folder, "stuck");
    await using cluster = await startCluster({ WORKERS: "2", WORKER_TIMEOUT: "3", STUCK: stuck });
    const [first] = await openAll(cluster.url, 1);
    await writeFile(stuck, "");
    process.kill(first?.pid as number, "SIGKILL");
    await until(() => delaysOf(cluster).length === 1);
    cluster.command.process.kill("SIGHUP");
    await cluster.command.printed(/a worker did not start in time; killing it/);
    await cluster.command.printed(/a new worker did not start; keeping the old ones/);
    expect(await openAll(cluster.url, 4)).toHaveLength(4);
    await rm(stuck);
    // The successor of the one that was killed may have begun to hang before that.
    await expect.poll(() => cluster.capacity(), SLOWLY).toMatchObject({ max_sessions: 200 });
    await rm(folder, { recursive: true });
  }, 150_000);

  test("has many requests wait for one that is busy", async () => {
    await using cluster = await startCluster({ WORKERS: "2", WORKER_TIMEOUT: "6" });
    const { header } = await openHttp(cluster.url);
    const named = { "openenv-session": header, connection: "close" };
    const stuck = stepHttp(cluster.url, named, { amount: 14 }).catch(() => {});
    const isBusy = async (): Promise<boolean> => {
      const signal = AbortSignal.timeout(500);
      const asking = fetch(`${cluster.url}/state`, { headers: named, signal }).then((answer) => answer.text());
      await asking.catch(() => {});
      return signal.aborted;
    };
    await until(isBusy);
    const asked = Array.from({ length: MORE_THAN_NODE_QUEUES }, async () => {
      // Those that it took itself are cut.
      const answer = await fetch(`${cluster.url}/state`, { headers: named }).catch(() => undefined);
      await answer?.text();
      return answer?.status;
    });
    const answers = await Promise.all(asked);
    expect(answers).toContain(404);
    expect(answers).not.toContain(503);
    await stuck;
  }, 120_000);

  test("ends the sessions of one that is stuck, over sockets and over HTTP, and gives their slots back", async () => {
    await using cluster = await startCluster({ WORKERS: "2", WORKER_TIMEOUT: "4" });
    const post = async (path: string, body: object, session?: string) => {
      const headers = { "content-type": "application/json", connection: "close" };
      const named = session === undefined ? headers : { ...headers, "openenv-session": session };
      return fetch(cluster.url + path, { method: "POST", headers: named, body: JSON.stringify(body) });
    };
    const sessions = await openAll(cluster.url, 12);
    const overHttp = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const response = await post("/reset", {});
        const { observation } = (await response.json()) as { observation: { pid: number } };
        return { id: response.headers.get("openenv-session") ?? "", pid: observation.pid };
      }),
    );
    const stuck = sessions[0]?.pid;
    sessions[0]?.socket.send(step(14));
    await sessions[0]?.socket.closed;
    for (const { socket, pid } of sessions) {
      if (pid === stuck) expect((await socket.closed).code).toBe(1006);
      else expect(await socket.ask(step(1))).toMatchObject({ data: { observation: { count: 1 }, reward: 1 } });
    }
    for (const { id, pid } of overHttp) {
      const response = await post("/step", { action: { amount: 1 } }, id);
      if (pid !== stuck) expect(await response.json()).toMatchObject({ observation: { count: 1 }, reward: 1 });
      else expect([response.status, await response.json()]).toMatchObject([404, { code: "SESSION_ERROR" }]);
    }
    const left = [...sessions, ...overHttp].filter(({ pid }) => pid !== stuck).length;
    await until(async () => {
      const { active_sessions, max_sessions } = await cluster.capacity();
      return active_sessions === left && max_sessions === 200;
    });
    await Promise.all(sessions.map(({ socket }) => socket[Symbol.asyncDispose]()));
  }, 120_000);
});
