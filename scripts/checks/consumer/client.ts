import { type CallOptions, connect, connectTools, connectVector, contractFromSchemas } from "openenv-ts/client";

interface Types {
  action: { amount: number };
  observation: { count: number };
  state: object;
  tools: { search: { input: { query: string }; output: string } };
}

export const env = await connect("http://localhost:8000");
export const result = await env.reset();
export const outcome = await env.tryStep({});
export const state = await env.state();
export const metadata = await env.metadata();
export const { tasks, tools } = env;
export const splits = await tasks.splits();
export const reset = (call?: CallOptions) => env.reset({ seed: 1 }, call);

export const agent = await connectTools("http://localhost:8000");
export const listed = await agent.listTools();
export const called = await agent.callTool("search");

export const envs = await connectVector("http://localhost:8000", { size: 2 });
export const results = await envs.step([]);
export const states = await envs.state();
export const toolResults = await envs.callTools([]);
export const completed = envs.asCompleted([]);

export const contract = contractFromSchemas<Types>("counter_env", {} as never);
export const typed = await connect("http://localhost:8000", contract);
export const typedTools = typed.tools;
export const typedResult = await typed.step({ amount: 1 });
