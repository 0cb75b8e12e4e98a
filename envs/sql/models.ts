import { defineContract } from "openenv-ts";
import * as z from "zod";

const sql = z.string().max(4_000).describe("One SELECT statement of SQLite, without parameters");
const cell = z.union([z.string(), z.number(), z.null()]);

export const sqlContract = defineContract({
  name: "sql_env",
  description: "Write and fix SQL queries; the rows of a query decide.",
  action: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("list_tables") }).describe("Lists the tables with the number of their rows."),
    z
      .object({ kind: z.literal("describe_table"), table: z.string().max(100) })
      .describe("Lists the columns of a table and says what they mean."),
    z.object({ kind: z.literal("run_query"), sql }).describe("Runs a query and returns its first rows. Earns nothing."),
    z.object({ kind: z.literal("explain"), sql }).describe("Returns how SQLite would run a query."),
    z
      .object({ kind: z.literal("submit_query"), sql })
      .describe("Submits a query as the answer. Ends the episode if it is right, or if no submission is left."),
  ]),
  observation: z.object({
    question: z.string().nullable().default(null).describe("What the query has to return; after a reset only"),
    broken_query: z.string().nullable().default(null).describe("The query to fix; after the reset of such a task only"),
    message: z.string().describe("What happened, or why it did not work"),
    columns: z.array(z.string()).default([]).describe("The names of the columns of the rows"),
    rows: z.array(z.array(cell)).default([]).describe("At most 30 rows"),
    more_rows: z.boolean().default(false).describe("The query has more rows than are shown"),
    submissions_left: z.int(),
    steps_left: z.int(),
  }),
  state: z.object({
    family: z.string().describe("The kind of database"),
    kind: z.enum(["write", "fix"]).describe("Write a query, or fix one"),
    question: z.string(),
    broken_query: z.string().nullable(),
    steps_left: z.int(),
    submissions_left: z.int(),
    submitted: z.string().nullable().describe("The latest query that was submitted"),
    solved: z.boolean(),
  }),
});
