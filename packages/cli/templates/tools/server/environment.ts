import { isDeepStrictEqual } from "node:util";
import { createTasks, defineEnvironment } from "openenv-ts";
import * as z from "zod";
import { contract } from "../models.js";

const ITEMS = new Map([
  ["T1", "Green tea, 100 g"],
  ["T2", "Green tea, 250 g"],
  ["H1", "Honey, 500 g"],
  ["M1", "Mug, blue"],
  ["M2", "Mug, white"],
]);

/** The box is the answer, so the tasks that clients read do not have it. */
const Task = z.object({ order: z.string(), box: z.record(z.string(), z.int()) });
const TRAIN: z.output<typeof Task>[] = [
  { order: "Two blue mugs, please.", box: { M1: 2 } },
  { order: "One small pack of green tea and a jar of honey.", box: { T1: 1, H1: 1 } },
  { order: "Three large packs of green tea.", box: { T2: 3 } },
];
const TEST = [{ order: "A white mug, and two jars of honey.", box: { M2: 1, H1: 2 } }];

/** Each call of this function is one session, so the state of a session lives inside it. */
export default defineEnvironment(
  contract,
  () => {
    let wanted: Record<string, number> = {};
    let box: Record<string, number> = {};
    let shipped = false;
    return {
      reset: ({ task, rng }) => {
        const { order, box: expected } = task ?? rng.pick(TRAIN);
        wanted = expected;
        box = {};
        shipped = false;
        return { observation: { order } };
      },
      state: () => ({ box, shipped }),
      // The reward depends on the final state only. The result is null when the call failed.
      afterTool: ({ name, result }) => {
        const ends = name === "ship" && (result as { shipped: boolean } | null)?.shipped === true;
        return { reward: ends && isDeepStrictEqual(box, wanted) ? 1 : 0, done: shipped };
      },
      tools: {
        search: ({ text }) =>
          [...ITEMS]
            .map(([code, name]) => ({ code, name }))
            .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase())),
        // Report what an agent did wrong in the result; an exception means that the environment is broken.
        pack: ({ code, count }) => {
          if (shipped || !ITEMS.has(code)) return { packed: false, box };
          box = { ...box, [code]: (box[code] ?? 0) + count };
          return { packed: true, box };
        },
        ship: () => {
          const ships = !shipped;
          shipped = true;
          return { shipped: ships };
        },
      },
    };
  },
  { seeded: true, sharesState: "no", tasks: createTasks(Task, { train: TRAIN, test: TEST }, { hidden: ["box"] }) },
);
