import { type AgentEpisode, createAgentEpisode, toAiSdk, toLangChain, toOpenAIAgent } from "openenv-ts/agents";
import { connect } from "openenv-ts/client";

const client = await connect("http://localhost:1");
export const episode: AgentEpisode = await createAgentEpisode(client);
export const { tools, stopWhen } = toAiSdk(episode);
export const agent = toOpenAIAgent(episode);
export const chain = toLangChain(episode, { tool: (_call, { name }) => name, createMiddleware: ({ name }) => name });
