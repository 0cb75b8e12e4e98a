import { describe, expect, test } from "vitest";
import { parseJsonl } from "./jsonl.js";
import { createTasks } from "./task-lists.js";

const tasks = createTasks({
  train: [{ id: 0 }, { id: 1 }, { id: 2 }, { id: 3 }],
  test: parseJsonl('{"id":9}'),
  none: [],
});

describe("tasks from lists", () => {
  test("tell their splits, counts, tasks and ranges", () => {
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
  ])("have the ranges of a slice: %s to %s", (start, stop) => {
    const ids = tasks.range("train", start, stop).map(({ id }) => id);
    expect(ids).toEqual([0, 1, 2, 3].slice(start, stop));
  });

  test("are given as copies: what one session does to a task reaches no other", () => {
    const shared = createTasks({ train: [{ words: ["a"] }] });
    (shared.get("train", 0)["words"] as string[]).push("b");
    expect(shared.list("train")).toEqual([{ words: ["a"] }]);
  });

  test("name what there is when something else is asked for", () => {
    for (const ask of [() => tasks.list("dev"), () => tasks.count("dev"), () => tasks.get("dev", 0)]) {
      expect(ask).toThrow('there is no split "dev"; there are: "train", "test", "none"');
    }
    for (const index of [4, -1]) {
      const ask = () => tasks.get("train", index);
      expect(ask).toThrow(`there is no task ${index} in the split "train": it has 4, 0 to 3`);
    }
    expect(() => tasks.get("none", 0)).toThrow('there is no task 0 in the split "none": it is empty');
    expect(() => createTasks({})).toThrow("at least one split");
  });
});
