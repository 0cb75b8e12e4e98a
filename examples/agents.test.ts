import { Agent, run, setTracingDisabled } from "@openai/agents";
import { generateText } from "ai";
import * as langchain from "langchain";
import { createAgentEpisode, toAiSdk, toLangChain, toOpenAIAgent } from "openenv-ts/agents";
import { ConnectionError, connect, connectTools, ToolCallError } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { describe, expect, test } from "vitest";
import { defineCounter } from "../test-support/environments/counter.js";
import { defineDesk } from "../test-support/environments/tool-environment.js";
import * as aiSdk from "./ai-sdk/model.js";
import * as langChain from "./langchain/model.js";
import * as openAI from "./openai-agents/model.js";
import type { Script } from "./script.js";

setTracingDisabled(true);
type Episode = Awaited<ReturnType<typeof createAgentEpisode>>;

/** Plays a script with each SDK; returns what the model read. */
const SDKS: Record<string, (episode: Episode, script: Script) => Promise<unknown>> = {
  "the AI SDK": async (episode, script) => {
    const model = aiSdk.scriptedModel(script);
    const { steps } = await generateText({ model, prompt: "Play.", ...toAiSdk(episode) });
    return steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output));
  },
  "OpenAI Agents": async (episode, script) => {
    const agent = new Agent({ name: "Player", model: openAI.scriptedModel(script), ...toOpenAIAgent(episode) });
    const { newItems } = await run(agent, "Play.");
    return newItems.flatMap((item) => (item.type === "tool_call_output_item" ? [item.output] : []));
  },
  "LangChain.js": async (episode, script) => {
    const agent = langchain.createAgent({ model: langChain.scriptedModel(script), ...toLangChain(episode, langchain) });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: "Play." }] });
    return messages.filter(langchain.ToolMessage.isInstance).map(({ content }) => content);
  },
};

/** The failure of the episode in the error of an SDK. */
function rootOf(error: unknown): unknown {
  const { cause, error: inner } = error as { cause?: unknown; error?: unknown };
  return inner ?? cause ?? error;
}

describe.each(Object.entries(SDKS))("an agent of %s", (_sdk, play) => {
  test("plays with the tools; calls after the end of the episode do not reach the environment", async () => {
    await using server = await serve(defineDesk().environment, { port: 0, logLevel: "silent" });
    await using env = await connect(server.url);
    await env.reset();
    const episode = await createAgentEpisode(env);
    const read = await play(episode, [
      [["add", { a: 1, b: 2 }]],
      [["tally", {}]],
      [
        ["tally", {}],
        ["tally", {}],
      ],
      [["tally", {}]],
    ]);
    expect(read).toEqual(["3", "1", "2", "The episode is over. Do not call tools any more."]);
    expect(episode).toMatchObject({ reward: 1, done: true, failure: undefined });
    expect(episode.calls.map(({ name, reward }) => [name, reward])).toEqual([
      ["add", 0],
      ["tally", 0.5],
      ["tally", 0.5],
    ]);
    expect(await env.state()).toMatchObject({ step_count: 3 });
  });

  test("acts in an environment without tools, and reads why an action is invalid", async () => {
    await using env = await connect(defineCounter().environment);
    await env.reset();
    const episode = await createAgentEpisode(env);
    expect(episode.tools).toMatchObject([
      { name: "step", inputSchema: { type: "object", required: ["amount"], additionalProperties: false } },
    ]);
    const read = await play(episode, [
      [["step", { amount: 1000 }]],
      [["step", { amount: 4 }]],
      [["step", { amount: 6 }]],
    ]);
    expect(read).toEqual([expect.stringMatching(/amount|maximum/), '{"count":4}', '{"count":10}']);
    expect(episode).toMatchObject({ reward: 10, done: true });
  });

  test("reads an error about its arguments, and rejects when a tool fails through no fault of the agent", async () => {
    await using env = await connectTools(defineDesk().environment);
    await env.reset();
    const episode = await createAgentEpisode(env);
    const failed = play(episode, [[["add", { a: "x" }]], [["fail", { why: "a bug" }]], [["add", { a: 1 }]]]);
    const error = rootOf(await failed.catch((thrown: unknown) => thrown));
    expect(error).toBeInstanceOf(ToolCallError);
    expect(error).toMatchObject({ errorType: "execution_error", reward: null });
    expect(episode.failure).toBe(error);
    expect(episode.calls.every(({ name }) => name === "add")).toBe(true);
    expect(await env.state()).toMatchObject({ step_count: episode.calls.length + 1 });
  });

  test("rejects with the lost session, which is not an answer of the world", async () => {
    const server = await serve(defineDesk().environment, { port: 0, logLevel: "silent", graceMs: 0 });
    await using env = await connect(server.url);
    await env.reset();
    const episode = await createAgentEpisode(env);
    await server.close();
    const error = await play(episode, [[["add", { a: 1 }]], [["add", { a: 1 }]]]).catch((thrown: unknown) => thrown);
    expect(rootOf(error)).toBeInstanceOf(ConnectionError);
    expect(episode).toMatchObject({ calls: [], reward: 0, failure: { code: "SESSION_LOST" } });
  });
});

test("outside of the episode a failed tool is for the model, as over MCP", async () => {
  await using server = await serve(defineDesk().environment, { port: 0, logLevel: "silent", mode: "production" });
  await using env = await connectTools(server.url, { mode: "production" });
  const episode = await createAgentEpisode(env);
  expect(await episode.call("fail", '{"why":"a bug"}')).toContain("failed");
  expect(await episode.call("add", "{")).toBe("The arguments are not JSON.");
  expect(await episode.call("add", "[]")).toBe("The arguments are not a JSON object.");
  expect(episode.calls).toMatchObject([{ name: "fail", reward: null, error: { errorType: "execution_error" } }]);
  await expect(episode.call("unreachable", {})).rejects.toMatchObject({ errorType: "transport_error" });
});
