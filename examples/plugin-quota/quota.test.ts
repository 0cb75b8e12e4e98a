import type { PluginCentral } from "openenv-ts/plugin";
import { expect, onTestFinished, test, vi } from "vitest";
import { silentLog } from "../../packages/openenv/src/util/log.js";
import { useServers } from "../../test-support/servers/servers.js";
import { codeOf } from "../../test-support/sockets/resumable.js";
import quota from "./quota.js";

vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();
const startCentral = async () => (await quota.central?.(silentLog)) as PluginCentral;

test("a place that was counted although its answer was lost is given back", async () => {
  vi.stubEnv("OPENENV_QUOTA_SESSIONS", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
  let isLost = true;
  const part = await startCentral();
  const answer: PluginCentral["answer"] = (message, worker) => {
    const given = part.answer(message, worker);
    if (isLost) throw new Error("the answer is lost");
    return given;
  };
  const server = await start({ plugins: [{ ...quota, central: () => ({ ...part, answer }) }] });
  const refused = await open(server);
  expect(codeOf(await refused.receive())).toBe("PLUGIN_FAILED");
  await refused.closed;
  isLost = false;
  expect(await (await open(server)).ask({ type: "reset" })).toMatchObject({ type: "observation" });
  expect(codeOf(await (await open(server)).receive())).toBe("CAPACITY_REACHED");
});

test("a place is given back once, and by its worker", async () => {
  const part = await startCentral();
  const ask = (type: "take" | "give", id: string, worker = 1) =>
    part.answer({ type, name: "ada", id, limit: 2 }, worker);
  ask("give", "a");
  expect([ask("take", "a"), ask("take", "b", 2), ask("take", "c")]).toEqual([true, true, false]);
  ask("give", "c");
  expect(ask("take", "c")).toBe(false);
  ask("give", "a");
  ask("give", "a");
  expect([ask("take", "c"), ask("take", "d")]).toEqual([true, false]);
  part.workerEnded?.(2);
  expect([ask("take", "d"), ask("take", "e")]).toEqual([true, false]);
});
