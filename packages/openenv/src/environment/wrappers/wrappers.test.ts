import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { ToolCallError } from "../../client/tools/mcp-result.js";
import { connect } from "../../connect.js";
import { defineContract } from "../../contract/contract.js";
import { defineTools } from "../../contract/tools/tools.js";
import { checkEnvironment } from "../../testing/index.js";
import { defineEnvironment } from "../define-environment.js";
import type { EnvironmentOptions, MaybePromise } from "../environment.js";
import { createTasks } from "../tasks/task-lists.js";
import {
  clipReward,
  filterObservation,
  historyObservation,
  recordedModel,
  simulateFaults,
  timeLimit,
  transformObservation,
  transformReward,
  Wrapper,
  wrapEnvironment,
} from "./index.js";

const counter = defineContract({
  name: "counter_env",
  action: z.object({ add: z.int().min(0).max(3) }),
  observation: z.object({ count: z.int(), secret: z.int().default(7) }),
  state: z.object({ total: z.int() }),
  tools: defineTools({ peek: { description: "Shows the count.", output: z.int() } }),
});

const define = (options: EnvironmentOptions = {}, later: <T>(value: T) => MaybePromise<T> = (v) => v) =>
  defineEnvironment(
    counter,
    () => {
      let count = 0;
      return {
        reset: ({ rng }) => later({ observation: { count: (count = rng.int(0, 100)) } }),
        step: ({ add }) => later({ observation: { count: (count += add) }, reward: add }),
        state: () => ({ total: count }),
        tools: { peek: () => later(count) },
        afterTool: () => ({ reward: 2 }),
        render: (observation) => [{ kind: "text" as const, runs: [{ text: JSON.stringify(observation) }] }],
        actions: () => [{ label: "one", action: { add: 1 } }],
        snapshot: () => ({ count }),
        restore: (saved: { count: number }) => {
          count = saved.count;
        },
        stateKey: () => count,
      };
    },
    { seeded: true, history: 10, ...options },
  );

/** Adds up the rewards of an episode, with its state. */
class Bonus extends Wrapper<typeof counter> {
  #steps = 0;
  override reset(request: Parameters<Wrapper<typeof counter>["reset"]>[0]) {
    this.#steps = 0;
    return super.reset(request);
  }
  override async step(...args: Parameters<Wrapper<typeof counter>["step"]>) {
    const result = await super.step(...args);
    return { ...result, reward: Number(result.reward) + 10 * ++this.#steps };
  }
  protected override saveState() {
    return { steps: this.#steps };
  }
  protected override loadState({ steps }: Readonly<Record<string, unknown>>) {
    this.#steps = steps as number;
  }
}
const bonus = <E extends ReturnType<typeof define>>(environment: E) =>
  wrapEnvironment(environment, (env) => new Bonus(env));

describe("wrappers", () => {
  test("compose from the inside out, for steps and tool calls", async () => {
    await using env = await connect(
      clipReward(
        transformReward(bonus(define()), (reward) => reward / 4),
        0,
        4,
      ),
    );
    await env.reset({ seed: 1 });
    expect((await env.step({ add: 2 })).reward).toBe(3);
    expect((await env.tools.peek({})).reward).toBe(0.5);
    expect((await env.step({ add: 2 })).reward).toBe(4);
  });

  test.each([
    ["sync", <T>(value: T) => value],
    ["async", async <T>(value: T) => value],
  ])("keep the state, tools, views and tasks of the environment: %s", async (_, later) => {
    const inner = define({ tasks: createTasks({ train: [{ id: 1 }] }), maxSteps: 3 }, later);
    const wrapped = filterObservation(bonus(historyObservation(inner, 2) as never) as typeof inner, ["count"]);
    await using env = await connect(wrapped);
    const { observation } = await env.reset({ seed: 1, split: "train", index: 0 });
    expect(Object.keys(observation)).toEqual(["count"]);
    expect((await env.state()).total).toBe(observation.count);
    expect((await env.tools.peek({})).data).toBe(observation.count);
    await env.step({ add: 1 });
    expect(await env.step({ add: 1 })).toMatchObject({ outcome: "truncated", reward: 21 });
  });

  test.each([
    ["the history", historyObservation(define(), 2)],
    ["nothing", define()],
  ])("leave removed fields out of views; inside is %s", async (_, inner) => {
    const made = await filterObservation(inner as ReturnType<typeof define>, ["count"]).create();
    const { observation } = await made.reset({ rng: { int: () => 4 } } as never);
    expect(await made.render?.(observation)).toEqual([{ kind: "text", runs: [{ text: '{"count":4}' }] }]);
    expect(await made.actions?.(observation)).toEqual([{ label: "one", action: { add: 1 } }]);
  });

  test("of a shape that changes show people the observation of the environment", async () => {
    const doubled = transformObservation(define(), ({ count }) => ({ twice: 2 * count }), z.object({ twice: z.int() }));
    const shown = [{ kind: "text", runs: [{ text: '{"count":4}' }] }];
    for (const [environment, view] of [
      [doubled, shown],
      [historyObservation(doubled, 2), shown],
      [filterObservation(doubled, []), []],
    ] as const) {
      const made = await environment.create();
      const { observation } = await made.reset({ rng: { int: () => 4 } } as never);
      expect(await made.render?.(observation as never)).toEqual(view);
    }
  });

  test("reach the tools of a class, and name a method that they cannot override", async () => {
    class Tools {
      peek() {
        return 5;
      }
    }
    const result = () => ({ observation: { count: 1 } });
    const environment = defineEnvironment(counter, () => ({ reset: result, step: result, tools: new Tools() }));
    await using env = await connect(simulateFaults(environment, { step: () => result() }));
    await env.reset();
    expect((await env.tools.peek({})).data).toBe(5);
    class Saving extends Wrapper<typeof counter> {
      override snapshot() {
        return {};
      }
    }
    let closed = 0;
    const counted = defineEnvironment(counter, () => ({
      ...{ reset: result, step: result, tools: new Tools() },
      close: () => void closed++,
    }));
    await expect(connect(wrapEnvironment(counted, (one) => new Saving(one)))).rejects.toThrow(
      "Saving overrides snapshot(): implement saveState() and loadState() instead.",
    );
    expect(closed).toBe(1);
  });

  test("lack what the environment lacks", async () => {
    const bare = defineContract({ name: "bare_env", action: z.object({}), observation: z.object({}) });
    const result = () => ({ observation: {} });
    const environment = defineEnvironment(bare, () => ({ reset: result, step: result }));
    const made = await wrapEnvironment(environment, (env) => new Wrapper(env)).create();
    for (const name of ["snapshot", "restore", "render", "actions", "stateKey", "tools", "afterTool"] as const)
      expect(made[name]).toBeUndefined();
    const wrong = defineEnvironment(bare, () => ({ reset: result }) as never);
    await expect(connect(timeLimit(wrong, { maxSteps: 1 }))).rejects.toThrow("step() is missing");
  });

  test.each([
    ["with snapshots", {}],
    ["by replay", { snapshot: undefined, restore: undefined }],
  ])("are restored with their own state: %s", async (_, without) => {
    const inner = wrapEnvironment(define(), (env) =>
      Object.assign(new Wrapper<typeof counter>(env), without as object),
    );
    const slow = simulateFaults(bonus(inner), {
      failureRate: 0.4,
      latencyMs: [0, 1],
      rateLimit: { calls: 3, refused: 2 },
      step: (fault, last) => ({ observation: last, reward: fault === "failure" ? -1 : -2 }),
    });
    const all = timeLimit(historyObservation(slow, 3), { maxSteps: 14 });
    await using env = await connect(all);
    await env.reset({ seed: 5 });
    for (let i = 0; i < 6; i++) await env.step({ add: i % 4 });
    const [copy] = await env.fork(1);
    await using other = copy as NonNullable<typeof copy>;
    for (let i = 0; i < 8; i++) {
      const [one, two] = [await env.step({ add: 1 }), await other.step({ add: 1 })];
      expect(two.observation).toEqual(one.observation);
      expect([two.reward, two.done]).toEqual([one.reward, i === 7]);
    }
  });

  test("pass the checks of environments", async () => {
    const history = historyObservation(timeLimit(simulateFaults(define(), { failureRate: 0.5 }), { maxSteps: 5 }), 2);
    const report = await checkEnvironment(history, { actions: [{ add: 1 }] });
    expect(report.checks.filter(({ status }) => status === "failed")).toEqual([]);
  });

  test.each([
    [() => clipReward(define(), 1, 0), "a range, got 1 to 0"],
    [() => filterObservation(define(), ["coutn" as never]), 'has no field "coutn"'],
    [() => historyObservation(define(), 0), "size must be a positive integer"],
    [() => historyObservation(historyObservation(define(), 1), 1), 'already has a field "history"'],
    [() => simulateFaults(define(), { failureRate: 2 }), "failureRate must be a number from 0 to 1, got 2"],
    [() => simulateFaults(define(), { latencyMs: [2, 1] }), "latencyMs must be two numbers in order"],
    [
      () => simulateFaults(define(), { rateLimit: { calls: 0, refused: 1 } }),
      "rateLimit must be two positive integers",
    ],
    [() => timeLimit(define(), { maxSteps: 0 }), "maxSteps must be a positive integer"],
  ])("refuse wrong options: %#", (make, message) => expect(make).toThrow(message));
});

describe("historyObservation", () => {
  test("has the last steps of the episode, oldest first", async () => {
    await using env = await connect(historyObservation(filterObservation(define(), ["count"]), 2));
    const { count, history } = (await env.reset({ seed: 1 })).observation;
    expect(history).toEqual([]);
    for (const add of [1, 2]) await env.step({ add });
    expect((await env.step({ add: 3 })).observation).toEqual({
      count: count + 6,
      history: [
        { observation: { count: count + 1 }, action: { add: 2 } },
        { observation: { count: count + 3 }, action: { add: 3 } },
      ],
    });
    expect((await env.reset()).observation.history).toEqual([]);
  });
});

describe("simulateFaults", () => {
  test("lets tools fail by the seed, with the usual reward and without reaching the environment", async () => {
    const faults = simulateFaults(define(), { failureRate: 0.5, rateLimit: { calls: 4, refused: 1 } });
    const play = async (seed: number) => {
      await using env = await connect(faults);
      await env.reset({ seed });
      const seen: unknown[] = [];
      for (let i = 0; i < 12; i++) {
        const call = env.tools.peek({});
        seen.push(
          await call.then(
            ({ reward }) => [reward],
            ({ reward, message, errorType }: ToolCallError) => [reward, message, errorType],
          ),
        );
      }
      return seen;
    };
    const first = await play(3);
    expect(await play(3)).toEqual(first);
    expect(await play(4)).not.toEqual(first);
    expect(first).toContainEqual([2, expect.stringContaining("503 service unavailable"), "execution_error"]);
    expect(first).toContainEqual([2, expect.stringContaining("429 too many requests"), "execution_error"]);
  });
});

test("recordedModel asks the same messages once, and needs no model for them afterwards", async () => {
  const answers = new Map<string, string>();
  let asked = 0;
  const model = recordedModel(answers, async ([message]) => `${message?.content} ${++asked}`);
  const ask = (content: string) => [{ role: "user", content }] as const;
  expect([await model(ask("a")), await model(ask("b")), await model(ask("a"))]).toEqual(["a 1", "b 2", "a 1"]);
  const recorded = recordedModel(new Map(answers));
  expect(await recorded(ask("b"))).toBe("b 2");
  await expect(recorded(ask("c"))).rejects.toThrow("no recorded answer");
});
