import { defineContract } from "openenv-ts";
import * as z from "zod";

/** The contract of the environment. Types, validation, schemas and clients derive from it. */
export const contract = defineContract({
  name: "counter_game",
  description: "Answer questions about the orders of a shop with SQL.",
  action: z.object({
    sql: z.string().min(1).max(2000).describe("One SELECT statement for SQLite, without RECURSIVE"),
  }),
  observation: z.object({
    question: z.string().describe("What the result of a statement has to answer"),
    tables: z.string().describe("The statements that created the tables"),
    rows: z.array(z.array(z.union([z.string(), z.number(), z.null()]))).describe("The first 20 rows of the result"),
    truncated: z.boolean().default(false).describe("Whether the result has more rows"),
    message: z.string().default("").describe("What happened"),
  }),
  state: z.object({ statements: z.array(z.string()).describe("The statements of this episode, oldest first") }),
});
