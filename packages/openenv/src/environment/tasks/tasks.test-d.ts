/** Compiled by the type check, never run: the types of tasks in `reset`. */
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import * as z from "zod";
import { defineContract } from "../../contract/contract.js";
import { defineEnvironment } from "../define-environment.js";
import type { ResetRequest } from "../environment.js";
import { createTasks } from "./task-lists.js";
import type { TaskProvider } from "./tasks.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

const contract = defineContract({
  name: "sums_env",
  action: z.object({ answer: z.int() }),
  observation: z.object({ question: z.string() }),
});
const Sum = z.object({ question: z.string(), answer: z.int(), difficulty: z.number().default(1) });
const step = () => ({ observation: { question: "" } });

export const typed = defineEnvironment(
  contract,
  () => ({
    reset: ({ task }) => {
      same<typeof task, (typeof tasks extends TaskProvider<infer T> ? T : never) | undefined>(true);
      // @ts-expect-error: not a field of the schema
      task?.anwser;
      const answer: number | undefined = task?.answer;
      const difficulty: number | undefined = task?.difficulty;
      const place: (string | number | undefined)[] = [task?.split, task?.index, task?.group];
      return { observation: { question: `${task?.question} ${answer} ${difficulty} ${place}` } };
    },
    step,
  }),
  // A function of the options does not hide the type of the tasks.
  {
    tasks: createTasks(Sum, { train: [] }, { hidden: ["answer"] }),
    capacity: { max: () => 1, onChange: (listener) => listener() },
  },
);
const tasks = createTasks(Sum, { train: [] });

// @ts-expect-error: not a field of the schema
createTasks(Sum, { train: [] }, { hidden: ["anwser"] });

class Sums {
  reset({ task }: ResetRequest<typeof contract, z.output<typeof Sum>>) {
    return { observation: { question: task?.question ?? "" } };
  }
  step = step;
}
export const withAClass = defineEnvironment(contract, () => new Sums(), { tasks });

export const withAnotherLibrary = defineEnvironment(
  contract,
  () => ({ reset: ({ task }) => ({ observation: { question: task?.question ?? "" } }), step }),
  { tasks: createTasks(toStandardJsonSchema(v.object({ question: v.string() })), { train: [] }) },
);

export const untyped = defineEnvironment(
  contract,
  () => ({
    reset: ({ task }) => {
      same<typeof task, Record<string, unknown> | undefined>(true);
      return { observation: { question: String(task?.["question"]) } };
    },
    step,
  }),
  { tasks: createTasks({ train: [] }) },
);
