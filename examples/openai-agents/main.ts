/** An agent of the OpenAI Agents SDK plays an episode. Run it with `npx openenv run examples/openai-agents/main.ts`. */
import assert from "node:assert/strict";
import { Agent, run, setTracingDisabled } from "@openai/agents";
import { createAgentEpisode, toOpenAIAgent } from "openenv-ts/agents";
import { connect } from "openenv-ts/client";
import environment from "../mcp-agent/environment.js";
import { FIND_IVORY } from "../script.js";
import { scriptedModel } from "./model.js";

setTracingDisabled(true);
const model = scriptedModel(FIND_IVORY);
await using env = await connect(environment);
const { observation } = await env.reset({ seed: 2 });

const episode = await createAgentEpisode(env);
await run(new Agent({ name: "Player", model, ...toOpenAIAgent(episode) }), observation.task ?? "");
console.log(`earned ${episode.reward} with ${episode.calls.length} calls`);

assert.deepEqual([episode.reward, episode.done, episode.calls.length], [1, true, 7]);
