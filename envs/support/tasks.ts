import { createTasks, type TaskList } from "openenv-ts";
import * as z from "zod";
import { difficultyOf, type Kind, kinds, makeCase } from "./cases.js";
import { change, decision } from "./models.js";

const Task = z.object({
  id: z.string(),
  difficulty: z.int().min(1).max(3).describe("1: one plain request, 2: a rule with numbers or a refusal, 3: a trap"),
  kind: z.enum(kinds as [Kind, ...Kind[]]),
  seed: z.int(),
  expected: z.object({ verified: z.boolean(), changes: z.array(change), decisions: z.array(decision) }),
});

/** Cases of all kinds in turn. The seeds of the splits do not meet. */
function cases(split: string, length: number, firstSeed: number): TaskList {
  return {
    length,
    at: (index) => {
      if (index >= length) return undefined;
      const [kind, seed] = [kinds[index % kinds.length] as Kind, firstSeed + index];
      const { expected } = makeCase(seed, kind);
      return { id: `${split}-${index}`, difficulty: difficultyOf(kind), kind, seed, expected };
    },
  };
}

export const tasks = createTasks(
  Task,
  { train: cases("train", 136, 100_000), test: cases("test", 51, 900_000) },
  { hidden: ["kind", "seed", "expected"] },
);
