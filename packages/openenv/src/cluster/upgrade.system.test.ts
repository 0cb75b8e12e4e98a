import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { createProject, type Project, startCommand } from "../../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { startRedis, type TestRedis } from "../../../../test-support/journals/redis.js";
import { startGateway } from "../../../../test-support/proxies/gateway.js";
import { requireRedis } from "../../../../test-support/requirement.js";
import { connect } from "../connect.js";

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

describe.skipIf(!component.available)("SIGTERM of a server with a journal in Redis", { timeout: 240_000 }, () => {
  test.each([
    ["waits for the episodes of four clients if the next server has another snapshotVersion", 2],
    ["hands their episodes over at once if the next server has the same snapshotVersion", 1],
  ])("%s", async (_, snapshotVersion) => {
    await redis?.clear();
    await using project = await createProject({ "old.mjs": environment(1), "new.mjs": environment(snapshotVersion) });
    const old = await startServer(project, "old.mjs");
    const next = await startServer(project, "new.mjs");
    await using gateway = await startGateway(old, "passes");
    let ended = false;
    const play = async () => {
      const found = { episodes: 0, moved: 0, lost: [] as unknown[] };
      await using env = await connect(gateway.url, { resume: true });
      while (!ended) {
        const pids = new Set([(await env.reset()).observation["pid"]]);
        for (let count = 1; count <= STEPS; count++) {
          await sleep(100);
          const result = await env.tryStep({ amount: 1 });
          if (result.outcome === "lost") found.lost.push(result.error.message);
          else expect(result.observation?.["count"]).toBe(count);
          pids.add(result.observation?.["pid"]);
        }
        found.episodes++;
        if (pids.size > 1) found.moved++;
      }
      return found;
    };
    const players = Array.from({ length: 4 }, play);
    try {
      await expect.poll(() => gateway.connections, { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
      await sleep(1_000);
      gateway.turn("passes", next);
      old.command.process.kill("SIGTERM");
      expect(await old.command.exited).toBe(0);
      expect(old.command.stderr).not.toContain("did not finish");
    } finally {
      ended = true;
    }
    const all = await Promise.all(players);
    expect(all.flatMap(({ lost }) => lost)).toEqual([]);
    expect(all.every(({ episodes }) => episodes > 0)).toBe(true);
    expect(all.reduce((sum, { moved }) => sum + moved, 0) > 0).toBe(snapshotVersion === 1);
    await Promise.all([old, next].map(({ command }) => command[Symbol.asyncDispose]()));
  });
});

async function startServer(project: Project, file: string) {
  const env = { JOURNAL: redis?.url ?? "", SHUTDOWN_DRAIN: "100" };
  const options = { cwd: project.dir, env };
  const command = startCommand(["serve", file, "--port", String(await findFreePort())], options);
  const [, url = ""] = await command.printed(/at (http:\S+)/);
  return { url, command };
}
