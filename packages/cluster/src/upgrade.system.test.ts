import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { createProject, type Project, startCommand } from "../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { startRedis, type TestRedis } from "../../../test-support/journals/redis.js";
import { startGateway } from "../../../test-support/proxies/gateway.js";
import { requireRedis } from "../../../test-support/requirement.js";

const component = await requireRedis();
let redis: TestRedis | undefined;
if (component.available) redis = await startRedis(component.path);
afterAll(() => redis?.[Symbol.asyncDispose]());

const STEPS = 20;
const environment = (snapshotVersion: number) => `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({
  name: "episode_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int(), pid: z.int() }),
});
export default defineEnvironment(contract, () => {
  let count = 0;
  const look = () => ({ count, pid: process.pid });
  return {
    reset: () => {
      count = 0;
      return { observation: look() };
    },
    step: ({ amount }) => {
      count += amount;
      return { observation: look(), done: count >= ${STEPS} };
    },
    snapshot: () => count,
    restore: (saved) => {
      count = saved;
    },
  };
}, { snapshotVersion: ${snapshotVersion} });
`;

const SAME_VERSION = 1;

describe.skipIf(!component.available)("SIGTERM of a server with a journal in Redis", { timeout: 240_000 }, () => {
  test.each([
    ["waits for the episodes of four clients if the next server has another snapshotVersion", 2],
    ["hands their episodes over at once if the next server has the same snapshotVersion", SAME_VERSION],
  ])("%s", async (_, snapshotVersion) => {
    await redis?.clear();
    await using project = await createProject({ "old.mjs": environment(1), "new.mjs": environment(snapshotVersion) });
    const old = await startServer(project, "old.mjs");
    const next = await startServer(project, "new.mjs");
    await using gateway = await startGateway(old, "passes");
    const play = startPlayers(gateway.url);
    try {
      await play.begun();
      gateway.turn("passes", next);
      old.command.process.kill("SIGTERM");
      expect(await old.command.exited).toBe(0);
      expect(old.command.stderr).not.toContain("did not finish");
    } finally {
      await play.end();
    }
    play.check(snapshotVersion);
    await Promise.all([old, next].map(({ command }) => command[Symbol.asyncDispose]()));
  });
});

describe.skipIf(!component.available)("SIGHUP of a server with a journal in Redis", { timeout: 240_000 }, () => {
  test.each([
    ["lets the episodes end on the old workers if the environment has another snapshotVersion now", 2],
    ["hands them over to the new workers if the environment has the same snapshotVersion", SAME_VERSION],
  ])("%s", async (_, snapshotVersion) => {
    await redis?.clear();
    await using project = await createProject({ "environment.mjs": environment(1) });
    const { url, command } = await startServer(project, "environment.mjs", { WORKERS: "2" });
    await using _server = command;
    const play = startPlayers(url);
    try {
      const before = await play.begun();
      await project.write("environment.mjs", environment(snapshotVersion));
      command.process.kill("SIGHUP");
      await expect.poll(() => play.pids().some((pid) => before.has(pid)), { timeout: 120_000 }).toBe(false);
      expect(command.stderr).not.toContain("did not finish");
    } finally {
      await play.end();
    }
    play.check(snapshotVersion);
  });
});

/** Plays episodes with four clients until the end. */
function startPlayers(url: string) {
  let ended = false;
  const players = Array.from({ length: 4 }, () => ({ episodes: 0, moved: 0, pid: 0, lost: [] as unknown[] }));
  const played = players.map(async (player) => {
    await using env = await connect(url, { resume: true });
    while (!ended) {
      const pids = new Set([(await env.reset()).observation["pid"]]);
      for (let count = 1; count <= STEPS; count++) {
        await sleep(100);
        const result = await env.tryStep({ amount: 1 });
        if (result.outcome === "lost") player.lost.push(result.error.message);
        else expect(result.observation?.["count"]).toBe(count);
        player.pid = (result.observation?.["pid"] as number) ?? player.pid;
        pids.add(player.pid);
      }
      player.episodes++;
      if (pids.size > 1) player.moved++;
    }
  });
  const pids = (): number[] => players.map(({ pid }) => pid);
  return {
    pids,
    /** Resolves with the processes of all, when each client is in an episode. */
    async begun(): Promise<Set<number>> {
      await expect.poll(pids, { timeout: 60_000 }).not.toContain(0);
      return new Set(pids());
    },
    async end(): Promise<void> {
      ended = true;
      await Promise.all(played);
    },
    /** No episode was lost, and some moved to another process if that was possible. */
    check(snapshotVersion: number): void {
      expect(players.flatMap(({ lost }) => lost)).toEqual([]);
      expect(players.every(({ episodes }) => episodes > 0)).toBe(true);
      expect(players.some(({ moved }) => moved > 0)).toBe(snapshotVersion === SAME_VERSION);
    },
  };
}

async function startServer(project: Project, file: string, variables: Record<string, string> = {}) {
  const env = { JOURNAL: redis?.url ?? "", SHUTDOWN_DRAIN: "100", ...variables };
  const options = { cwd: project.dir, env };
  const command = startCommand(["serve", file, "--port", String(await findFreePort())], options);
  const [, url = ""] = await command.printed(/at (http:\S+)/);
  return { url, command };
}
