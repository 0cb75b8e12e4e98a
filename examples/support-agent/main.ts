/**
 * An agent answers the customers of `envs/support`: it reads the policy, which is another one in each case, and acts by it.
 * Run it with `npx openenv run examples/support-agent/main.ts`.
 *
 *     SUPPORT_URL   a server to play on; without it one is started here
 *     SPLIT         the split whose tasks are played; default test
 */
import assert from "node:assert/strict";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { support } from "../../envs/support/models.js";
import environment from "../../envs/support/server/environment.js";
import { answerCase } from "./agent.js";

const { SUPPORT_URL: given, SPLIT: split = "test" } = process.env;
await using server = given ? undefined : await serve(environment, { port: 0, logLevel: "silent" });
await using env = await connect(given || (server?.url ?? ""), support);
const count = await env.tasks.count(split);
const rewards: number[] = [];
for (let index = 0; index < count; index++) rewards.push(await answerCase(env, { split, index }));

const solved = rewards.filter((reward) => reward === 1).length;
console.log(`the script solved ${solved} of ${count} cases`);
assert.equal(solved, count, `rewards: ${rewards.join(", ")}`);
