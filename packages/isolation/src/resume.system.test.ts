/** Sessions of isolated environments are resumed and copied like others. Runs the built package, as isolates do. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { connect } from "openenv-ts/client";
import { describe, expect, test, vi } from "vitest";
import { startIsolated } from "../../../test-support/environments/isolation.js";

// Starting an isolate takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 60_000 });

/**
 * The step `die` ends its process or thread in the middle, once; `wait` waits in the middle until the file `go` exists. With
 * the file `unsaved` the next snapshot ends it.
 */
const source = (saves: boolean, history = 1) => `
import { defineContract, defineEnvironment } from "openenv-ts";
import { appendFileSync, existsSync, rmSync } from "node:fs";
import { threadId } from "node:worker_threads";
import * as z from "zod";
const contract = defineContract({
  name: "dice_env",
  action: z.object({ op: z.string().default("add"), amount: z.int().default(1) }),
  observation: z.object({ count: z.int(), rolled: z.int(), where: z.string().default("") }),
});
const at = (name) => new URL("./" + name, import.meta.url);
const log = (text) => appendFileSync(at("log.txt"), text + "\\n");
const methods = (get, set) => ({ snapshot: get, restore: set });
export default defineEnvironment(contract, () => {
  let count = 0;
  const save = () => {
    if (!existsSync(at("unsaved"))) return count;
    rmSync(at("unsaved"));
    process.exit(7);
  };
  const look = (rolled) => ({ observation: { count, rolled } });
  return {
    reset: () => { count = 0; return look(0); },
    step: async ({ op, amount }, { rng, record }) => {
      if (op === "where") return { observation: { count, rolled: 0, where: process.pid + "/" + threadId } };
      const rolled = rng.int(1, 1e9);
      count += amount;
      if (op === "effect") await record("paid", async (key) => { log("paid " + key); return 1; });
      if (op === "die" && existsSync(at("die"))) { rmSync(at("die")); log("died"); process.exit(7); }
      if (op === "wait") log("waiting " + process.pid);
      while (op === "wait" && !existsSync(at("go"))) await new Promise((resolve) => setTimeout(resolve, 10));
      return look(rolled);
    },
    ...(${saves} && methods(save, (saved) => { count = saved; })),
  };
}, { seeded: true, history: ${history} });
`;

describe.each(["thread", "process"] as const)("with a %s for each session", (isolation) => {
  test.each([
    ["a snapshot", true],
    ["a replay", false],
  ])("a step in whose middle the environment ends runs again after %s, and counts once", async (_how, saves) => {
    const play = async (disturb: boolean): Promise<unknown[]> => {
      await using isolated = await startIsolated({ isolation, journal: "memory" }, source(saves));
      const at = (name: string): string => fileURLToPath(new URL(`./${name}`, isolated.url));
      await using env = await connect(isolated.server.url, { resume: true });
      await env.reset({ seed: 7 });
      const seen: unknown[] = [(await env.step({ op: "effect", amount: 2 })).observation];
      if (disturb) writeFileSync(at("die"), "");
      const died = await env.step({ op: "die", amount: 3 });
      expect(died.recovered).toBe(disturb ? true : undefined);
      seen.push(died.observation);
      if (isolation === "process") {
        const step = env.step({ op: "wait", amount: 4 });
        await vi.waitFor(() => expect(isolated.log().join()).toContain("waiting"), 20_000);
        const [, pid] = /waiting (\d+)/.exec(isolated.log().join()) ?? [];
        if (disturb) process.kill(Number(pid), "SIGKILL");
        writeFileSync(at("go"), "");
        seen.push((await step).observation);
      }
      seen.push((await env.step({ amount: 5 })).observation, await env.state());
      // An effect that was recorded is not repeated by a restore.
      expect(isolated.log().filter((line) => line.startsWith("paid"))).toHaveLength(1);
      expect(isolated.log().includes("died")).toBe(disturb);
      return seen.map((one) => ({ ...(one as object), episode_id: "" }));
    };
    expect(await play(true)).toEqual(await play(false));
  });

  test.each([
    ["without a history", 1],
    ["with one", 3],
  ])("%s a step whose snapshot ends the environment is not answered as if it were stored", async (_how, history) => {
    await using isolated = await startIsolated({ isolation, journal: "memory" }, source(true, history));
    const step = (amount: number): Promise<unknown> => post("step", { action: { amount } });
    const post = async (path: string, body: object): Promise<unknown> => {
      const headers = { "content-type": "application/json" };
      const url = `${isolated.server.url}/session/a-name-of-a-session/${path}`;
      return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).json();
    };
    await post("reset", { seed: 7 });
    expect(await step(2)).toMatchObject({ observation: { count: 2 } });
    writeFileSync(fileURLToPath(new URL("./unsaved", isolated.url)), "");
    const reason = "the answer could not be recorded: the thread or process of the environment has ended";
    expect(await step(10)).toMatchObject({ code: "SESSION_ERROR", detail: reason });
    expect(await step(1)).toMatchObject({ observation: { count: 3 } });
  });

  test.each([
    ["a snapshot", true],
    ["a replay", false],
  ])("is copied by %s into separate isolates, of which one may end", async (_how, saves) => {
    const options = { isolation, journal: "memory", maxConcurrentEnvs: 4 } as const;
    await using isolated = await startIsolated(options, source(saves));
    await using env = await connect(isolated.server.url, { resume: true });
    await env.reset({ seed: 7 });
    await env.step({ amount: 2 });
    const same = await env.fork(2);
    await expect(env.fork(2)).rejects.toMatchObject({ code: "CAPACITY_REACHED" });
    const [split] = await env.fork(1, { rng: "split" });
    const all = [env, ...same, ...(split ? [split] : [])];
    const steps = await Promise.all(all.map((one, nth) => one.step({ amount: nth })));
    expect(steps.map(({ observation }) => observation["count"])).toEqual([2, 3, 4, 5]);
    const rolls = steps.map(({ observation }) => observation["rolled"]);
    expect([rolls[1], rolls[2], new Set(rolls).size]).toEqual([rolls[0], rolls[0], 2]);
    writeFileSync(fileURLToPath(new URL("./die", isolated.url)), "");
    await same[0]?.step({ op: "die", amount: 10 });
    const last = await Promise.all(all.map((one) => one.step({ amount: 1 })));
    expect(last.map(({ observation }) => observation["count"])).toEqual([3, 14, 5, 6]);
    expect(isolated.server.capacity().active_sessions).toBe(4);
    await Promise.all([...same, split].map((copy) => copy?.close()));
  });
});
