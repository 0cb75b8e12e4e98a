import { expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment } from "../../index.js";
import { createRuntime } from "../runtime.js";
import { askTasks } from "./ask-tasks.js";

const contract = defineContract({ name: "quiz_env", action: z.object({}), observation: z.object({}) });

function runtimeWith(get: (split: string, index: number) => object) {
  const factory = () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) });
  return createRuntime(defineEnvironment(contract, factory, { tasks: { get: (...args) => ({ task: get(...args) }) } }));
}

function nested(depth: number): object {
  let value = {};
  for (let level = 0; level < depth; level++) value = { value };
  return value;
}

test("an index outside the split is a 400, a task without a JSON form is a 500", async () => {
  const outside = runtimeWith(() => {
    throw new RangeError("list index out of range");
  });
  expect(await askTasks(outside, "get", ["train", 9])).toEqual({ status: 400, message: "Invalid task index" });
  const deep = runtimeWith(() => nested(100_000));
  expect(await askTasks(deep, "get", ["train", 0])).toMatchObject({ status: 500 });
  const cyclic = runtimeWith(() => {
    const task: { self?: object } = {};
    task.self = task;
    return task;
  });
  expect(await askTasks(cyclic, "get", ["train", 0])).toMatchObject({ status: 500 });
  expect(await askTasks(cyclic, "list", ["train"])).toMatchObject({ status: 501 });
});
