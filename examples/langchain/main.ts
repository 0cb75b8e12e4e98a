/** An agent of LangChain.js plays an episode. Run it with `npx openenv run examples/langchain/main.ts`. */
import assert from "node:assert/strict";
import * as langchain from "langchain";
import { createAgentEpisode, toLangChain } from "openenv-ts/agents";
import { connect } from "openenv-ts/client";
import environment from "../mcp-agent/environment.js";
import { FIND_IVORY } from "../script.js";
import { scriptedModel } from "./model.js";

const model = scriptedModel(FIND_IVORY);
await using env = await connect(environment);
const { observation } = await env.reset({ seed: 2 });

const episode = await createAgentEpisode(env);
const agent = langchain.createAgent({ model, ...toLangChain(episode, langchain) });
await agent.invoke({ messages: [{ role: "user", content: observation.task ?? "" }] });
console.log(`earned ${episode.reward} with ${episode.calls.length} calls`);

assert.deepEqual([episode.reward, episode.done, episode.calls.length], [1, true, 7]);
