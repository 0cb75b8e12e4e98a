import { describe, expect, test } from "vitest";
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
