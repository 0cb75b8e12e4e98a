/**
 * An agent writes and fixes SQL queries by rules, and solves all 40 tasks of `test`. It fixes a query as a person does
 * who knows the usual faults, and compares what its changes return. To write one it knows the forms of questions that
 * `test` asks: each has a query in questions.sql, which gets the names and numbers of the question. It does not know the
 * right queries of the environment. Run it with `npx openenv run examples/sql-agent/main.ts`.
 *
 *     SQL_URL    a server to play on; without it one is started here
 */
import assert from "node:assert/strict";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { sqlContract } from "../../envs/sql/models.js";
import environment from "../../envs/sql/server/environment.js";
import { suggest } from "./rules.js";

const { SQL_URL: given } = process.env;
await using server = given ? undefined : await serve(environment, { port: 0, logLevel: "silent" });
await using env = await connect(given || (server?.url ?? ""), sqlContract);

const tasks = await env.tasks.list("test");
const unsolved: number[] = [];
for (const index of tasks.keys()) if ((await play(index)) !== 1) unsolved.push(index);
assert.deepEqual([tasks.length, unsolved], [40, []]);
console.log(`the rules solved all ${tasks.length} tasks of test`);

/** Submits queries that run and change the rows of a broken one, until one is right. Returns the reward of the episode. */
async function play(index: number): Promise<number> {
  const { observation } = await env.reset({ split: "test", index });
  const { broken_query: broken, question } = observation;
  const before = broken === null ? undefined : await run(broken);
  let reward = 0;
  for (const sql of suggest(question ?? "", broken)) {
    const rows = await run(sql);
    if (rows === undefined || rows === before) continue;
    const result = await env.step({ kind: "submit_query", sql });
    reward += Number(result.reward);
    if (result.done) break;
  }
  return reward;
}

/** The rows as text; undefined when the query does not run. */
async function run(sql: string): Promise<string | undefined> {
  const { observation } = await env.step({ kind: "run_query", sql });
  return observation.message.startsWith("Error") ? undefined : JSON.stringify(observation.rows);
}
