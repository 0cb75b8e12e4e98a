/** An agent of the AI SDK plays an episode. Run it with `npx openenv run examples/ai-sdk/main.ts`. */
import assert from "node:assert/strict";
import { generateText } from "ai";
import { createAgentEpisode, toAiSdk } from "openenv-ts/agents";
import { connect } from "openenv-ts/client";
import environment from "../mcp-agent/environment.js";
import { FIND_IVORY } from "../script.js";
import { scriptedModel } from "./model.js";

const model = scriptedModel(FIND_IVORY);
await using env = await connect(environment);
const { observation } = await env.reset({ seed: 2 });

const episode = await createAgentEpisode(env);
await generateText({ model, prompt: observation.task ?? "", ...toAiSdk(episode) });
console.log(`earned ${episode.reward} with ${episode.calls.length} calls`);

assert.deepEqual([episode.reward, episode.done, episode.calls.length], [1, true, 7]);
