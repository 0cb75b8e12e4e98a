import { createTasks, type TaskList } from "openenv-ts";
import * as z from "zod";
import { difficultyOf, type Kind, kinds } from "./cases.js";

const Task = z.object({
  id: z.string(),
  difficulty: z.int().min(1).max(3).describe("1: the log names the fault, 2: it needs a comparison, 3: it comes back"),
  kind: z.enum(kinds),
  seed: z.int(),
});

/** Cases of all kinds in turn. The seeds of the splits do not meet. */
function cases(split: string, length: number, firstSeed: number): TaskList {
  return {
    length,
    at: (index) => {
      if (index >= length) return undefined;
      const kind = kinds[index % kinds.length] as Kind;
      return { id: `${split}-${index}`, difficulty: difficultyOf(kind), kind, seed: firstSeed + index };
    },
  };
}

/** Together 16 seeds of each kind, so that no two cases of a kind have services with the same name. */
export const tasks = createTasks(
  Task,
  { train: cases("train", 108, 0), test: cases("test", 36, 108) },
  { hidden: ["kind", "seed"] },
);
