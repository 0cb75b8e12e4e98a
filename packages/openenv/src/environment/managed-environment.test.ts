import { describe, expect, test } from "vitest";
import * as z from "zod";
import { Fixed, late } from "../../../../test-support/environments/rubrics.js";
import { connect } from "../connect.js";
import { defineContract } from "../contract/contract.js";
import { defineTools } from "../contract/tools/tools.js";
import { EnvironmentError } from "../errors.js";
import { createRuntime } from "../session/runtime.js";
import { defineEnvironment } from "./define-environment.js";
import type { Environment, EnvironmentOptions, ScoredAction, ScoredObservation } from "./environment.js";
import { Gate } from "./rubrics/gate.js";
import { Rubric, type ScoreContext } from "./rubrics/rubric.js";
import { Sequential } from "./rubrics/sequential.js";
import { TrajectoryRubric, type TrajectoryStep } from "./rubrics/trajectory.js";
import { WeightedSum } from "./rubrics/weighted-sum.js";
import { createTasks } from "./tasks/task-lists.js";
import type { TaskProvider } from "./tasks/tasks.js";

const contract = defineContract({
  name: "typing_env",
  action: z.object({ text: z.string() }),
  observation: z.object({ text: z.string(), tags: z.array(z.string()).default([]) }),
});
type Typing = Environment<typeof contract>;
type Seen = ScoredObservation<typeof contract>;

const plain = (): Typing => ({
  reset: () => ({ observation: { text: "" } }),
  step: ({ text }) => ({ observation: { text }, done: text === "end" }),
});
const define = (factory: () => Typing | Promise<Typing>, options: EnvironmentOptions = {}) =>
  defineEnvironment(contract, factory, options);
const scored = (rubric: Rubric, more: Partial<Typing> = {}, options: EnvironmentOptions = {}) =>
  define(() => ({ ...plain(), ...more, rubric }), options);

class Short extends Rubric<{ text: string }, Seen> {
  override forward(action: { text: string }) {
    return action.text.length < 4 ? 1 : 0.5;
  }
}

describe("an environment with a rubric", () => {
  test.each([
    ["sync", () => new Short()],
    ["async", () => late(1)],
  ])("gets its reward from the rubric, and no reward for a reset: %s", async (_, make) => {
    await using env = await connect(scored(make()));
    expect((await env.reset()).reward).toBeNull();
    expect((await env.step({ text: "abc" })).reward).toBe(1);
  });

  test("gives the rubric the state after the step", async () => {
    const stateful = defineContract({ ...contract, state: z.object({ paid: z.int() }) } as never) as never;
    class Paid extends Rubric<unknown, unknown> {
      override async forward(_action: unknown, _seen: unknown, { state }: ScoreContext<{ paid: number }>) {
        return (await state?.())?.paid ?? -1;
      }
    }
    let paid = 0;
    const environment = defineEnvironment(
      stateful,
      () =>
        ({
          ...plain(),
          step: ({ text }: { text: string }) => ({ observation: { text: String((paid += text.length)) } }),
          state: () => ({ paid }),
          rubric: new Paid(),
        }) as never,
    );
    await using env = await connect(environment as ReturnType<typeof define>);
    await env.reset();
    expect((await env.step({ text: "abc" })).reward).toBe(3);
    expect((await env.step({ text: "ab" })).reward).toBe(5);
  });

  test("stays sync with a sync rubric", () => {
    const { definition } = createRuntime(scored(new Short()));
    const made = definition.create() as Environment;
    expect(made.step({ text: "abc" }, {} as never)).toMatchObject({ reward: 1, observation: { text: "abc" } });
  });

  test("gets a score for tool calls too, but not for calls that failed through no fault of the agent", async () => {
    const tooled = defineContract({
      name: "tooled_env",
      tools: defineTools({ add: { description: "Adds.", input: z.object({ n: z.int() }) } }),
    });
    class PerTool extends Rubric<ScoredAction<typeof tooled>, ScoredObservation<typeof tooled>> {
      override forward(action: ScoredAction<typeof tooled>, { error, result }: ScoredObservation<typeof tooled>) {
        if (error) return 0.25;
        return "tool_name" in action && action.tool_name === "add" ? Number(result) / 10 : 0;
      }
    }
    const environment = defineEnvironment(
      tooled,
      () => ({
        reset: () => ({ observation: {} }),
        rubric: new PerTool(),
        afterTool: () => ({ reward: 5, done: true, metadata: { own: 1 } }),
        tools: {
          add: ({ n }: { n: number }) => {
            if (n === 13) throw new Error("the disk is full");
            return n + 1;
          },
        },
      }),
      { rubricScores: true },
    );
    await using env = await connect(environment);
    await env.reset();
    const call = (tool_name: string, n: unknown) =>
      env.step({ type: "call_tool", tool_name, arguments: { n } } as never);
    expect(await call("add", 3)).toMatchObject({ reward: 0.4, done: true, metadata: { own: 1, rubric_scores: {} } });
    expect(await call("add", "x")).toMatchObject({
      reward: 0.25,
      observation: { error: { error_type: "invalid_args" } },
    });
    const failed = await call("add", 13);
    expect(failed).toMatchObject({ reward: 5, observation: { error: { error_type: "execution_error" } } });
  });

  test("may be a class or come from an async factory", async () => {
    class Typewriter implements Typing {
      readonly rubric = new Short();
      #last = "";
      reset() {
        return { observation: { text: (this.#last = "") } };
      }
      async step({ text }: { text: string }) {
        return { observation: { text: (this.#last += text) } };
      }
      close() {
        this.#last = "closed";
      }
    }
    await using env = await connect(define(async () => new Typewriter()));
    await env.reset();
    await env.step({ text: "ab" });
    expect(await env.step({ text: "c" })).toMatchObject({ reward: 1, observation: { text: "abc" } });
  });

  test("passes the rubric the observation, done, metadata and the step's own reward", async () => {
    const seen: unknown[] = [];
    class Looks extends Rubric<unknown, Seen> {
      override forward(_action: unknown, observation: Seen) {
        seen.push(observation);
        return Number(observation.reward ?? 0) * 2;
      }
    }
    const step: Typing["step"] = ({ text }) =>
      text === "end"
        ? { observation: { text }, truncated: true, metadata: { why: "time" } }
        : { observation: { text }, reward: 3 };
    await using env = await connect(scored(new Looks(), { step }));
    await env.reset();
    expect((await env.step({ text: "a" })).reward).toBe(6);
    expect((await env.step({ text: "end" })).reward).toBe(0);
    expect(seen).toEqual([
      { text: "a", reward: 3, done: false, metadata: {} },
      { text: "end", reward: null, done: true, metadata: { why: "time", truncated: true } },
    ]);
  });

  test("resets the rubric and its children, and every session has its own", async () => {
    class Steps extends TrajectoryRubric<unknown, Seen> {
      override scoreTrajectory(trajectory: readonly TrajectoryStep<unknown, Seen>[]) {
        return trajectory.length;
      }
    }
    const environment = define(() => ({ ...plain(), rubric: new Sequential(new Gate(new Fixed(1)), new Steps()) }));
    await using one = await connect(environment);
    await using other = await connect(environment);
    for (const env of [one, other, one]) {
      await env.reset();
      await env.step({ text: "a" });
    }
    await other.step({ text: "b" });
    expect((await one.step({ text: "end" })).reward).toBe(2);
    expect((await other.step({ text: "end" })).reward).toBe(3);
  });

  test("sends the scores of all rubrics on request, null for those that did not run", async () => {
    const rubric = () =>
      new Sequential(
        new Gate(new Short(), 0.9),
        new WeightedSum({ a: new Fixed(1), b: late(0.5) }, { a: 0.5, b: 0.5 }),
      );
    const environment = define(() => ({ ...plain(), rubric: rubric() }), { rubricScores: true });
    await using env = await connect(environment);
    expect((await env.reset()).metadata).not.toHaveProperty("rubric_scores");
    expect((await env.step({ text: "abc" })).metadata["rubric_scores"]).toEqual({
      rubric_0: 1,
      "rubric_0.rubric": 1,
      rubric_1: 0.75,
      "rubric_1.a": 1,
      "rubric_1.b": 0.5,
    });
    const closed = await env.step({ text: "abcdef" });
    expect(closed.reward).toBe(0);
    expect(closed.metadata["rubric_scores"]).toEqual({
      rubric_0: 0,
      "rubric_0.rubric": 0.5,
      rubric_1: null,
      "rubric_1.a": null,
      "rubric_1.b": null,
    });
    await using quiet = await connect(define(() => ({ ...plain(), rubric: rubric() })));
    await quiet.reset();
    expect((await quiet.step({ text: "abc" })).metadata).toEqual({});
  });

  test("fails the step when the rubric fails, never with a reward of 0, and the session continues", async () => {
    let trouble: Error | undefined = new TypeError("what only the author knows");
    const rubric = new WeightedSum(
      {
        judge: new Fixed(() => {
          if (trouble) throw trouble;
          return 0.5;
        }),
      },
      { judge: 1 },
    );
    await using env = await connect(scored(rubric));
    await env.reset();
    const message = "the rubric judge failed: what only the author knows";
    await expect(env.step({ text: "a" })).rejects.toMatchObject({ code: "EXECUTION_ERROR", message });
    trouble = new EnvironmentError("no tests found");
    await expect(env.step({ text: "a" })).rejects.toMatchObject({ message: "the rubric judge failed: no tests found" });
    expect((await env.state()).step_count).toBe(0);
    trouble = undefined;
    expect((await env.step({ text: "a" })).reward).toBe(0.5);
  });

  test("leaves an invalid result to validation", async () => {
    await using env = await connect(scored(new Short(), { step: () => undefined as never }));
    await env.reset();
    await expect(env.step({ text: "a" })).rejects.toThrow("reset and step must return { observation");
  });
});

describe("an environment with tasks", () => {
  const lists = createTasks({ train: [{ id: 1 }, { id: 2 }], test: [{ id: 3 }] });
  const shows: Typing["reset"] = ({ split, index, task }) => ({
    observation: { text: JSON.stringify([split, index, task]) },
  });
  const tasked = (tasks: TaskProvider) => define(() => ({ ...plain(), reset: shows }), { tasks });
  const later: TaskProvider = {
    splits: async () => lists.splits(),
    count: async (split) => lists.count(split),
    get: async (split, index) => lists.get(split, index),
  };

  test.each([
    ["sync", lists],
    ["async", later],
    ["without a count", { splits: lists.splits, get: lists.get }],
  ])("receives the task at split and index: %s", async (_, tasks) => {
    await using env = await connect(tasked(tasks));
    const text = async (options: Parameters<typeof env.reset>[0]) =>
      JSON.parse((await env.reset(options)).observation.text);
    expect(await text({ split: "train", index: 1 })).toEqual(["train", 1, { id: 2 }]);
    expect(await text({ split: "test" })).toEqual(["test", null, null]);
    expect(await text({})).toEqual([null, null, null]);
  });

  test.each([
    [{ split: "trian", index: 0 }, /^unknown split "trian"; available splits: "train", "test"$/],
    [{ split: "trian" }, /^unknown split "trian"/],
    [{ split: "train", index: 2 }, /^no task 2 in split "train", which has tasks 0 to 1$/],
    [{ split: "train", index: -1 }, /^no task -1 in split "train"/],
    [{ index: 0 }, /^a task index needs a split; available splits: "train", "test"$/],
  ])("rejects a reset to %j, and the session continues", async (options, message) => {
    for (const tasks of [lists, later]) {
      await using env = await connect(tasked(tasks));
      await expect(env.reset(options)).rejects.toMatchObject({
        code: "EXECUTION_ERROR",
        message: expect.stringMatching(message),
      });
      expect((await env.reset({ split: "test", index: 0 })).observation.text).toContain('{"id":3}');
    }
  });

  test("needs no split if there is only one, and handles a provider's RangeError for an unknown index", async () => {
    await using env = await connect(tasked(createTasks({ train: [{ id: 1 }] })));
    expect((await env.reset({ index: 0 })).observation.text).toContain('{"id":1}');
    const strict: TaskProvider = {
      get: (split, index) => {
        throw new RangeError(`${split} ${index}`);
      },
    };
    await using other = await connect(tasked(strict));
    await expect(other.reset({ split: "x", index: 5 })).rejects.toThrow('no task 5 in split "x"');
  });

  test("checks the index against the count of a provider that has a task for any index", async () => {
    const any: TaskProvider = { splits: lists.splits, count: () => 2, get: () => ({ id: 1 }) };
    await using env = await connect(tasked(any));
    await expect(env.reset({ split: "train", index: 2 })).rejects.toThrow("which has tasks 0 to 1");
  });

  test("may declare a reset option `task` only without a task provider", async () => {
    await using env = await connect(define(() => ({ ...plain(), reset: shows })));
    expect((await env.reset({ split: "any", index: 9 })).observation.text).toBe('["any",9,null]');
    const own = defineContract({
      name: "own_env",
      action: z.object({}),
      observation: z.object({}),
      reset: z.object({ task: z.string() }),
    });
    const factory = () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) });
    expect(() => defineEnvironment(own, factory, { tasks: lists })).toThrow('The reset option "task" is reserved');
    defineEnvironment(own, () => ({
      ...factory(),
      reset: ({ task }) => ({ observation: {}, metadata: { task: task.length } }),
    }));
  });
});
