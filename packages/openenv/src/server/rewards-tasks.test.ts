/** Rewards by rubrics and the tasks of a reset, wherever sessions live. They run the built package, as hosts do. */
import { connect } from "openenv-ts/client";
import type { ServeOptions } from "openenv-ts/server";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { callCommand, createProject, startCommand } from "../../../../test-support/commands/command-line.js";
import { type IsolatedServer, startIsolated } from "../../../../test-support/environments/isolation.js";

// Starting a process takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 120_000 });

const TASKS = { "train.jsonl": '{"answer":1}\n\n{"answer":2}\n', "test.jsonl": '{"answer":3}\nbroken\n' };
const MODULE = `
import {
  createTasks, defineContract, defineEnvironment, Gate, parseJsonl, Rubric, Sequential, TrajectoryRubric,
} from "openenv-ts";
import { readJsonl } from "openenv-ts/server";
import * as z from "zod";

const contract = defineContract({
  name: "sum_env",
  action: z.object({ answer: z.number() }),
  observation: z.object({ right: z.boolean() }),
});
const file = (name, text) => FILES ? readJsonl(new URL(name, import.meta.url)) : parseJsonl(text, name);
const FILES = __FILES__;
const tasks = createTasks({
  train: file("./train.jsonl", ${JSON.stringify(TASKS["train.jsonl"])}),
  test: file("./test.jsonl", ${JSON.stringify(TASKS["test.jsonl"])}),
});
class Right extends Rubric {
  async forward({ answer }, { right }) {
    if (answer === 666) throw new TypeError("the secret of the judge");
    return right ? 1 : 0;
  }
}
class Share extends TrajectoryRubric {
  scoreTrajectory(steps) { return steps.filter(({ observation }) => observation.right).length / steps.length; }
}
export default defineEnvironment(contract, () => {
  let expected, steps;
  return {
    rubric: new Sequential(new Gate(new Right()), new Share()),
    reset({ task }) { expected = task?.answer; steps = 0; return { observation: { right: false }, metadata: { task } }; },
    step: ({ answer }) => ({ observation: { right: answer === expected }, done: ++steps === 3 }),
  };
}, { tasks, rubricScores: true });
`;

const KINDS: Record<string, ServeOptions> = {
  "in this process": {},
  "in a thread each": { isolation: "thread" },
  "in a process each": { isolation: "process" },
  "in one thread": { isolation: "thread", isolatePoolSize: 1 },
};

/** Plays an episode of the second train task: wrong, right, right. */
async function play(url: string): Promise<void> {
  await using env = await connect(url);
  expect((await env.reset({ split: "train", index: 1 })).metadata["task"]).toEqual({ answer: 2 });
  const results = [];
  for (const answer of [1, 2, 2]) results.push(await env.step({ answer }));
  expect(results.map(({ reward }) => reward)).toEqual([0, 0, 2 / 3]);
  expect(results.map(({ metadata }) => metadata["rubric_scores"])).toEqual([
    { rubric_0: 0, "rubric_0.rubric": 0, rubric_1: null },
    { rubric_0: 1, "rubric_0.rubric": 1, rubric_1: 0 },
    { rubric_0: 1, "rubric_0.rubric": 1, rubric_1: 2 / 3 },
  ]);
}

describe.each(Object.entries(KINDS))("sessions %s", (_, options) => {
  let isolated: IsolatedServer;
  beforeAll(async () => {
    isolated = await startIsolated(options, MODULE.replace("__FILES__", "false"));
    return () => isolated[Symbol.asyncDispose]();
  });

  test("receive their tasks, their rewards and the scores of each rubric", async () => {
    await Promise.all([play(isolated.server.url), play(isolated.server.url)]);
  });

  test("receive an error for a wrong split, a wrong task and a rubric that fails, and continue", async () => {
    await using env = await connect(isolated.server.url);
    const failure = (message: string) => ({ code: "EXECUTION_ERROR", message });
    await expect(env.reset({ split: "dev", index: 0 })).rejects.toMatchObject(
      failure('unknown split "dev"; available splits: "train", "test"'),
    );
    await expect(env.reset({ split: "train", index: 2 })).rejects.toMatchObject(
      failure('no task 2 in split "train", which has tasks 0 to 1'),
    );
    await expect(env.reset({ split: "test", index: 1 })).rejects.toMatchObject(
      failure('task 1 of split "test": ./test.jsonl, line 2: not valid JSON'),
    );
    await env.reset({ split: "test", index: 0 });
    await expect(env.step({ answer: 666 })).rejects.toMatchObject(
      failure("the rubric rubric_0.rubric failed: the secret of the judge"),
    );
    expect((await env.step({ answer: 3 })).reward).toBe(0);
  });

  test("have the Task API", async () => {
    await using env = await connect(isolated.server.url);
    expect(await env.tasks.splits()).toEqual([
      { name: "train", type: "train" },
      { name: "test", type: "test" },
    ]);
    expect(await env.tasks.count("test")).toBe(2);
    expect(await env.tasks.list("train")).toEqual([{ answer: 1 }, { answer: 2 }]);
    expect(await env.tasks.get("train", 1)).toEqual({ answer: 2 });
    expect(await env.tasks.range("train", -1)).toEqual([{ answer: 2 }]);
    await expect(env.tasks.get("train", 2)).rejects.toThrow('no task 2 in split "train", which has tasks 0 to 1');
    await expect(env.tasks.count("dev")).rejects.toMatchObject({
      details: { status: 400 },
      message: expect.stringContaining('unknown split "dev"; available splits: "train", "test"'),
    });
    await expect(env.tasks.list("test")).rejects.toMatchObject({
      details: { status: 500 },
      message: expect.stringContaining("./test.jsonl, line 2: not valid JSON"),
    });
  });
});

test("workers in production serve tasks of files, and only the log has the message of a rubric that fails", async () => {
  await using project = await createProject({ "environment.mjs": MODULE.replace("__FILES__", "true"), ...TASKS });
  await using command = startCommand(
    ["serve", "environment.mjs", "--port", "0", "--workers", "2", "--isolation", "process"],
    { cwd: project.dir, env: { OPENENV_MODE: "production" } },
  );
  const [, url = ""] = await command.printed(/at (http:\/\/[\w.:]+)/);
  await Promise.all([play(url), play(url), play(url), play(url)]);
  await using env = await connect(url);
  await expect(env.reset({ split: "test", index: 1 })).rejects.toThrow("test.jsonl, line 2: not valid JSON");
  await env.reset();
  await expect(env.step({ answer: 666 })).rejects.toMatchObject({ message: "the rubric rubric_0.rubric failed" });
  await command.printed(/the secret of the judge/);
}, 60_000);

test("a missing file of tasks stops the start, and the error has its path", async () => {
  await using project = await createProject({ "environment.mjs": MODULE.replace("__FILES__", "true") });
  const { code, stderr } = await callCommand(["serve", "environment.mjs", "--port", "0"], { cwd: project.dir });
  expect(code).toBe(2);
  expect(stderr).toMatch(/There is no file .*train\.jsonl/);
});
