import { createTasks, defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const TASKS = createTasks({
  train: [{ word: "crane" }, { word: "slate" }, { word: "pride" }],
  test: [{ word: "quiet" }],
});
const words = defineContract({
  name: "Words_Env",
  action: z.object({ say: z.string() }),
  observation: z.object({ text: z.string() }),
});
/** An environment with tasks, whose agent says the word of its task. */
export const tasked = () =>
  defineEnvironment(
    words,
    () => {
      let word = "";
      return {
        reset: ({ task, seed }) => {
          word = (task?.["word"] as string | undefined) ?? `seed ${seed}`;
          return { observation: { text: `Say ${word}.` } };
        },
        step: ({ say }) => ({ observation: { text: say.repeat(2) }, reward: say === word, done: say === word }),
      };
    },
    { tasks: TASKS },
  );
