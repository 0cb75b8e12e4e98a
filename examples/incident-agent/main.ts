/**
 * An agent repairs the hosts of `envs/incident`: it follows the logs from the service that alerts to the cause.
 * Run it with `npx openenv run examples/incident-agent/main.ts`.
 *
 *     INCIDENT_URL   a server to play on; without it one is started here
 *     SPLIT          the split whose tasks are played; default test
 */
import assert from "node:assert/strict";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { incident } from "../../envs/incident/models.js";
import environment from "../../envs/incident/server/environment.js";
import { suggestFix } from "./rules.js";

const { INCIDENT_URL: given, SPLIT: split = "test" } = process.env;
await using server = given ? undefined : await serve(environment, { port: 0, logLevel: "silent" });
await using env = await connect(given || (server?.url ?? ""), incident);
const count = await env.tasks.count(split);
const rewards: number[] = [];
for (let index = 0; index < count; index++) rewards.push(await repair(index));

const solved = rewards.filter((reward) => reward === 1).length;
console.log(`the rules repaired ${solved} of ${count} hosts`);
assert.equal(solved, count, `rewards: ${rewards.join(", ")}`);

async function repair(index: number): Promise<number> {
  const { alert } = (await env.reset({ split, index })).observation;
  let [name] = alert.match(/[\w-]+(?=[,.]\s*|$)/g)?.slice(-1) ?? [];
  for (let nth = 0; name !== undefined && nth < 6; nth++) {
    const problem = await run(`grep -hE 'FATAL|ERROR' /var/log/${name}.log | tail -n 1`);
    const { command = "", next } = await suggestFix(name, problem, run);
    await run(command);
    name = next;
  }
  return Number((await env.tools.resolve({ summary: "The logs led to the cause, which is repaired." })).reward);
}

async function run(command: string): Promise<string> {
  return (await env.tools.bash({ command })).data.stdout.trim();
}
