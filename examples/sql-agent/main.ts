/**
 * An agent fixes broken SQL queries by rules. It compares what its changes return, as a person does who knows the usual
 * faults, and does not know the right queries. Run it with `npx openenv run examples/sql-agent/main.ts`.
 *
 *     SQL_URL    a server to play on; without it one is started here
 */
import assert from "node:assert/strict";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { sqlContract } from "../../envs/sql/models.js";
import environment from "../../envs/sql/server/environment.js";
import { suggestFixes } from "./rules.js";

const { SQL_URL: given } = process.env;
await using server = given ? undefined : await serve(environment, { port: 0, logLevel: "silent" });
await using env = await connect(given || (server?.url ?? ""), sqlContract);

const results: { family: unknown; reward: number }[] = [];
for (const [index, { kind, family }] of (await env.tasks.list("test")).entries()) {
  if (kind === "fix") results.push({ family, reward: await fix(index) });
}

const solved = results.filter(({ reward }) => reward === 1);
assert.ok(solved.length >= results.length / 2, `the rules fixed only ${solved.length} of ${results.length} queries`);
console.log(`the rules fixed ${solved.length} of ${results.length} queries`);

/** Submits the fixes that run and change the rows, until one is right. Returns the reward of the episode. */
async function fix(index: number): Promise<number> {
  const { observation } = await env.reset({ split: "test", index });
  const broken = observation.broken_query ?? "";
  const before = await run(broken);
  let reward = 0;
  for (const sql of suggestFixes(broken, observation.question ?? "")) {
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
