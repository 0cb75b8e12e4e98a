import { defineContract, defineEnvironment, type TaskProvider } from "openenv-ts";
import * as z from "zod";

const SPLIT_SIZE = 3;

const tasks: TaskProvider = {
  splits: () => ["train", "test", "holdout", { name: "extra", type: "test", note: "x" }],
  list: (split) => Array.from({ length: SPLIT_SIZE }, (_, index) => taskOf(split, index)),
  count(split) {
    if (split === "nope") throw new Error("no such split");
    return SPLIT_SIZE;
  },
  get: taskOf,
  range: (split, start, stop) =>
    Array.from({ length: SPLIT_SIZE }, (_, index) => taskOf(split, index)).slice(start, stop),
};

/** A counter that returns the task that reset selects. */
export const tasked = defineEnvironment(
  defineContract({
    name: "Tasks",
    action: z.object({ amount: z.int() }),
    observation: z.object({ count: z.int() }),
  }),
  () => {
    let count = 0;
    return {
      reset({ split, index }) {
        count = 0;
        if (split === undefined || index === undefined) return { observation: { count } };
        return { observation: { count }, metadata: { split, index, task: taskOf(split, index) } };
      },
      step: ({ amount }) => ({ observation: { count: (count += amount) }, reward: amount }),
    };
  },
  { tasks },
);

function taskOf(split: string, index: number) {
  if (index < 0 || index >= SPLIT_SIZE) throw new RangeError(`no task ${index}`);
  return { id: `${split}-${index}`, index };
}
