import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { EnvironmentError } from "../../errors.js";
import { parseJsonl } from "./jsonl.js";
import { createTasks } from "./task-lists.js";

const tasks = createTasks({
  train: [{ id: 0 }, { id: 1 }, { id: 2 }, { id: 3 }],
  test: parseJsonl('{"id":9}'),
  none: [],
});

describe("tasks from lists", () => {
  test("have splits, counts, tasks and ranges", () => {
    expect(tasks.splits()).toEqual(["train", "test", "none"]);
    expect([tasks.count("train"), tasks.count("test"), tasks.count("none")]).toEqual([4, 1, 0]);
    expect(tasks.get("train", 2)).toEqual({ id: 2 });
    expect(tasks.list("test")).toEqual([{ id: 9 }]);
  });

  test.each([
    [undefined, undefined],
    [1, 3],
    [-2, undefined],
    [0, -1],
    [-100, 100],
    [3, 1],
    [9, undefined],
    [undefined, -9],
  ])("have ranges like Array.prototype.slice: %s to %s", (start, stop) => {
    const ids = tasks.range("train", start, stop).map(({ id }) => id);
    expect(ids).toEqual([0, 1, 2, 3].slice(start, stop));
  });

  test("are copied for each session", () => {
    const shared = createTasks({ train: [{ words: ["a"] }] });
    (shared.get("train", 0)["words"] as string[]).push("b");
    expect(shared.list("train")).toEqual([{ words: ["a"] }]);
  });

  test("name the available splits and tasks in errors", () => {
    for (const ask of [() => tasks.list("dev"), () => tasks.count("dev"), () => tasks.get("dev", 0)]) {
      expect(ask).toThrow('unknown split "dev"; available splits: "train", "test", "none"');
    }
    for (const index of [4, -1]) {
      const ask = () => tasks.get("train", index);
      expect(ask).toThrow(`no task ${index} in split "train", which has tasks 0 to 3`);
    }
    expect(() => tasks.get("none", 0)).toThrow('no task 0 in split "none", which is empty');
    expect(() => createTasks({})).toThrow("at least one split");
  });
});

describe("tasks with a schema", () => {
  const Sum = z.object({ question: z.string(), answer: z.coerce.number(), level: z.int().default(1) });

  test("have its types and defaults, their place, and the reserved keys", () => {
    const sums = createTasks(Sum, { train: [{ question: "1 + 1", answer: "2", id: "a", difficulty: 3, more: 1 }] });
    const task = { question: "1 + 1", answer: 2, level: 1, id: "a", difficulty: 3, split: "train", index: 0 };
    expect(sums.list("train")).toEqual([task]);
  });

  test("of another library or a strict one accept the reserved keys", () => {
    for (const schema of [
      toStandardJsonSchema(v.strictObject({ question: v.string() })),
      z.strictObject({ question: z.string() }),
    ]) {
      const sums = createTasks(schema, { test: [{ question: "1 + 1", group: "sums", index: 0 }] });
      expect(sums.get("test", 0)).toEqual({ question: "1 + 1", group: "sums", split: "test", index: 0 });
    }
  });

  test.each([
    [
      { question: 1, answer: "x" },
      'task 1 of split "dev" does not fit its schema: question: Invalid input: expected string',
    ],
    [{ question: "", answer: 1, difficulty: "hard" }, "difficulty: Invalid input: expected number"],
    [{ question: "", answer: 1, split: "train" }, 'split: Invalid input: expected "dev"'],
  ])("that do not fit are named: %j", (wrong, message) => {
    const sums = createTasks(Sum, { dev: [{ question: "1 + 1", answer: 2 }, wrong] });
    expect(sums.get("dev", 0).answer).toBe(2);
    expect(() => sums.get("dev", 1)).toThrow(message);
    expect(() => sums.list("dev")).toThrow(EnvironmentError);
  });

  test("name the split of a line that is not JSON, also without a schema", () => {
    const broken = parseJsonl('{"question":"1","answer":1}\n{');
    const message = 'task 1 of split "dev": the tasks, line 2: not valid JSON';
    expect(() => createTasks(Sum, { dev: broken }).get("dev", 1)).toThrow(message);
    expect(() => createTasks({ dev: broken }).get("dev", 1)).toThrow(message);
  });

  test("are refused for a hidden field that the schema lacks, and for a schema that is not of an object", () => {
    expect(() => createTasks(Sum, { train: [] }, { hidden: ["anwser" as never] })).toThrow('no field "anwser"');
    expect(() => createTasks(z.string() as never, { train: [] })).toThrow("must be an object schema");
  });
});
