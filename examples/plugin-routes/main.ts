/** Plays an episode, and reads it from a route of a plugin. Run it with `npx openenv run examples/plugin-routes/main.ts`. */
import assert from "node:assert/strict";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import environment from "../dice.js";
import scores from "./scores.js";

const TOKEN = "of-clients";
await using server = await serve(environment, { port: 0, logLevel: "error", clientToken: TOKEN, plugins: [scores] });
await using env = await connect(server.url, { token: TOKEN });
await env.reset();
for (const eyes of [6, 6, 6, 2]) await env.step({ eyes });

const read = (path: string, headers = {}) => fetch(`${server.url}${path}`, { headers });
assert.equal((await read("/scores")).status, 401);
assert.equal(await (await read("/scores/page")).text(), "<h1>Scores</h1>");
const answer = await read("/scores", { authorization: `Bearer ${TOKEN}` });
const [best] = (await answer.json()) as { steps: number; reward: number }[];
assert.deepEqual([best?.steps, best?.reward], [4, 20]);
console.log(best);
