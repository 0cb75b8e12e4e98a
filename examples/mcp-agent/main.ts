/**
 * An agent solves tasks with the tools of an environment: a language model behind any endpoint for OpenAI's chat
 * completions with tool calls, or, without an endpoint, a script. Run it with `npx openenv run
 * examples/mcp-agent/main.ts`.
 *
 *     OPENAI_BASE_URL   such as http://localhost:11434/v1; without it the script plays
 *     OPENAI_MODEL      the model's name
 *     OPENAI_API_KEY    sent as a bearer token if set
 *     TOOLS_URL         a server of this package or the Python package with tools for a model; without it one is started
 *     EPISODES          number of episodes, 1 to 10000; default 5
 */
import assert from "node:assert/strict";
import { connectTools } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { complete } from "../chat.js";
import environment from "./environment.js";
import { playEpisode, type ToolEpisode, type ToolPolicy } from "./play.js";
import { scriptedPolicy } from "./scripted.js";

const MAX_TURNS = 20;

const { OPENAI_BASE_URL: endpoint, OPENAI_MODEL: model, OPENAI_API_KEY: key, TOOLS_URL: given } = process.env;
if (endpoint && !model) throw new Error("OPENAI_BASE_URL is set: set OPENAI_MODEL, too");
if (given && !endpoint)
  throw new Error("TOOLS_URL is set: set OPENAI_BASE_URL, too, because the script can play only its own game");
const count = Number(process.env["EPISODES"] || 5);
if (!(Number.isInteger(count) && count >= 1 && count <= 10_000)) {
  throw new Error(`EPISODES must be an integer from 1 to 10000, got "${process.env["EPISODES"]}"`);
}

const policy: ToolPolicy =
  endpoint && model ? (messages, tools) => complete({ endpoint, model, key }, { messages, tools }) : scriptedPolicy;
await using server = given ? undefined : await serve(environment, { port: 0, logLevel: "silent" });
const episodes: ToolEpisode[] = [];
for (let seed = 0; seed < count; seed++) {
  await using client = await connectTools(given || (server?.url ?? ""));
  episodes.push(await playEpisode(client, policy, { seed, maxTurns: MAX_TURNS }));
}

const reward = episodes.reduce((sum, episode) => sum + episode.reward, 0);
const calls = episodes.reduce((sum, episode) => sum + episode.calls.length, 0);
if (!endpoint) assert.equal(reward, count, `the script solved only ${reward} of ${count} tasks`);
console.log(
  `${endpoint ? model : "the script"} earned ${reward} in ${count} episodes, ` +
    `with ${(calls / count).toFixed(1)} calls on average`,
);
