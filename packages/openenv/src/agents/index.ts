export { type AiSdkOptions, type AiSdkTool, toAiSdk } from "./ai-sdk.js";
export { type AgentCall, type AgentEpisode, createAgentEpisode } from "./episode.js";
export { type LangChain, type LangChainOptions, toLangChain } from "./langchain.js";
export { type OpenAIAgentOptions, type OpenAIFunctionTool, toOpenAIAgent } from "./openai-agents.js";
export type { AgentClient } from "./read-tools.js";
