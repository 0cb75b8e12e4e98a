import { expect, test } from "vitest";
import * as z from "zod";
import { sayText, startChatServer } from "../../../../test-support/servers/chat-server.js";
import { defineContract, defineTools } from "../../../openenv/src/index.js";
import { rng } from "../../../openenv/src/util/rng.js";
import { offeredActions } from "../project/offered-actions.js";
import { createModelPolicy } from "./model-policy.js";

const tools = defineTools({
  look: { description: "Looks something up.", input: z.object({ country: z.string() }) },
  answer: { description: "Answers.", input: z.object({ text: z.string() }) },
});
const actionSchema = offeredActions(defineContract({ name: "quiz_env", tools }).schemas());
const turn = { episode: 0, step: 0, observation: { question: "?" }, reward: null, metadata: {}, actionSchema };
const call = (tool_name: string, given: object) => ({ type: "call_tool", tool_name, arguments: given });

test("a model learns which tools there are, and what is wrong with its call of one", async () => {
  const answers = [call("look", { town: "Lima" }), call("search", {}), call("look", { country: "Peru" })];
  await using model = await startChatServer((response, nth) => sayText(response, JSON.stringify(answers[nth - 1])));
  const policy = await createModelPolicy({ url: model.url, model: "small", actionSchema });
  expect(await policy({ ...turn, random: rng(1), memory: {} })).toEqual(answers[2]);
  const told = model.requests.at(-1)?.body.messages.map(({ content }) => content) ?? [];
  expect(told[0]).toContain("Looks something up.");
  expect(told[0]).toContain('"country"');
  expect(told[3]).toMatch(/does not fit: arguments\.country: .*required/);
  expect(told[3]).not.toContain("arguments.text");
  expect(told[5]).toMatch(/does not fit: .*tool_name/);
});

test("a model that never fits the schema fails the episode", async () => {
  await using model = await startChatServer((response) => sayText(response, '{"tool_name": "look"}'));
  const policy = await createModelPolicy({ url: model.url, model: "small", actionSchema });
  await expect(policy({ ...turn, random: rng(1), memory: {} })).rejects.toThrow("no action that fits the schema in 3");
});
