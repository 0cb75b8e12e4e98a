import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const contract = defineContract({
  name: "sql_env",
  action: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("query"), sql: z.string().describe("What to run") }).describe("Runs SQL."),
    z.object({ kind: z.literal("answer"), value: z.int() }),
  ]),
  observation: z.object({ text: z.string() }),
});

export default defineEnvironment(contract, () => ({
  reset: () => ({ observation: { text: "How many rows?" } }),
  step: (action) =>
    action.kind === "query"
      ? { observation: { text: `ran ${action.sql}` }, reward: 0 }
      : { observation: { text: "thanks" }, reward: action.value, done: true },
}));
