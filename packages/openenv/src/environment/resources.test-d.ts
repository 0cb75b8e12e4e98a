/** Compiled by the type check, never run: the types of resources in the factory. */
import * as z from "zod";
import { defineContract } from "../contract/contract.js";
import { defineEnvironment } from "./define-environment.js";
import { createTasks } from "./tasks/task-lists.js";

const contract = defineContract({ name: "any_env", action: z.object({}), observation: z.object({}) });
class Database {
  query(text: string): string[] {
    return [text];
  }
  async end(): Promise<void> {}
}

export const environment = defineEnvironment(
  contract,
  ({ resources: { db, place } }) => {
    const rows: string[] = db.query("");
    const port: number = place.port;
    // @ts-expect-error: not a member of the resource
    db.qurey();
    return {
      reset: ({ task }) => ({ observation: { ...(rows[port] && task?.question && {}) } }),
      step: () => ({ observation: {} }),
    };
  },
  {
    resources: {
      db: {
        open: async () => new Database(),
        close: (db) => db.end(),
        check: (db) => db.query("").length > 0,
        spares: 4,
      },
      place: { open: () => ({ port: 1 }), scope: "server" },
    },
    tasks: createTasks(z.object({ question: z.string() }), { train: [] }),
  },
);

export const without = defineEnvironment(contract, ({ resources }) => {
  // @ts-expect-error: not declared
  resources.db;
  return { reset: () => ({ observation: {} }), step: () => ({ observation: {} }) };
});

defineEnvironment(contract, () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) }), {
  // @ts-expect-error: not a scope
  resources: { db: { open: () => 1, scope: "process" } },
});
