import { expect, test } from "vitest";
import * as z from "zod";
import { sayText, startChatServer } from "../../../../test-support/other-servers/chat-server.js";
import { defineContract, defineTools } from "../index.js";
import { offeredActions } from "../protocol/offered-actions.js";
import { rng } from "../util/rng.js";
import { createModelPolicy } from "./model-policy.js";

const tools = defineTools({
  look: { description: "Looks something up.", input: z.object({ country: z.string() }) },
  answer: { description: "Answers.", input: z.object({ text: z.string() }) },
});
const actionSchema = offeredActions(defineContract({ name: "quiz_env", tools }).schemas());
const turn = { episode: 0, step: 0, observation: { question: "?" }, reward: null, metadata: {}, actionSchema };
const call = (tool_name: string, given: object) => ({ type: "call_tool", tool_name, arguments: given });

test("a model gets the list of tools, and the problems of an invalid call", async () => {
  const answers = [call("look", { town: "Lima" }), call("search", {}), call("look", { country: "Peru" })];
  await using model = await startChatServer((response, nth) => sayText(response, JSON.stringify(answers[nth - 1])));
  const policy = await createModelPolicy({ url: model.url, model: "small", actionSchema });
  expect(await policy({ ...turn, random: rng(1), memory: {} })).toEqual(answers[2]);
  const messages = model.requests.at(-1)?.body.messages.map(({ content }) => content) ?? [];
  expect(messages[0]).toContain("Looks something up.");
  expect(messages[0]).toContain('"country"');
  expect(messages[3]).toMatch(/is not valid: arguments\.country: .*required/);
  expect(messages[3]).not.toContain("arguments.text");
  expect(messages[5]).toMatch(/is not valid: .*tool_name/);
});

test("a model without a valid answer fails the episode", async () => {
  await using model = await startChatServer((response) => sayText(response, '{"tool_name": "look"}'));
  const policy = await createModelPolicy({ url: model.url, model: "small", actionSchema });
  await expect(policy({ ...turn, random: rng(1), memory: {} })).rejects.toThrow(
    "did not return a valid action in 3 answers",
  );
});
