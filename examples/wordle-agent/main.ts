/**
 * An agent plays Wordle: a language model behind any endpoint for OpenAI's chat completions, or, without an endpoint, a
 * script that keeps the words that match the feedback. Run it with `npx openenv run examples/wordle-agent/main.ts`.
 *
 *     OPENAI_BASE_URL   such as http://localhost:11434/v1; without it the script plays
 *     OPENAI_MODEL      the model's name
 *     OPENAI_API_KEY    sent as a bearer token if set
 *     WORDLE_URL        a server to play on; without it one is started here
 *     GAMES             number of games, 1 to 10000; default 50, with a model 5
 */
import assert from "node:assert/strict";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { wordle } from "../../envs/wordle/models.js";
import environment from "../../envs/wordle/server/environment.js";
import { chatPolicy } from "./chat.js";
import { playEpisode, type WordleEpisode } from "./play.js";
import { scriptedPolicy } from "./scripted.js";

const { OPENAI_BASE_URL: endpoint, OPENAI_MODEL: model, OPENAI_API_KEY: key, WORDLE_URL: given } = process.env;
if (endpoint && !model) throw new Error("OPENAI_BASE_URL is set: set OPENAI_MODEL, too");
const games = Number(process.env["GAMES"] || (endpoint ? 5 : 50));
if (!(Number.isInteger(games) && games >= 1 && games <= 10_000)) {
  throw new Error(`GAMES must be an integer from 1 to 10000, got "${process.env["GAMES"]}"`);
}

await using server = given ? undefined : await serve(environment, { port: 0, logLevel: "silent" });
const url = given || (server?.url ?? "");
const episodes: WordleEpisode[] = [];
for (let seed = 0; seed < games; seed++) {
  await using env = await connect(url, wordle);
  const policy = endpoint && model ? chatPolicy({ endpoint, model, key }) : scriptedPolicy();
  episodes.push(await playEpisode(env, policy, seed));
}

const solved = episodes.filter(({ reward }) => reward === 1);
const turns = solved.reduce((sum, episode) => sum + episode.moves.length, 0) / solved.length;
if (!endpoint) assert.ok(solved.length >= games * 0.8, `the script solved only ${solved.length} of ${games} games`);
console.log(
  `${endpoint ? model : "the script"} solved ${solved.length} of ${games} games` +
    (solved.length > 0 ? `, in ${turns.toFixed(1)} moves on average` : ""),
);
