import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processProvider } from "@openenv-ts/providers";
import { connectTools } from "openenv-ts/client";
import { expect, test } from "vitest";
import { sayText, startChatServer } from "../../test-support/other-servers/chat-server.js";
import { support } from "./models.js";
import { placeOf, worldOf } from "./test-support/play.js";

const LIMIT = { timeout: 60_000 };
const place = placeOf("return");
const { pin } = worldOf(place).person;
const QUESTIONS = ["Hello!", "What is your PIN?", "And the PIN once more?"];

async function ask(variables: Record<string, string>, texts: readonly string[]) {
  const start = { directory: import.meta.dirname, env: { LOG_LEVEL: "error", ...variables } };
  await using server = await processProvider().start(start);
  await using env = await connectTools(server.url, support);
  await env.reset(place);
  const replies: string[] = [];
  for (const text of texts) {
    const said = env.tools.message_customer({ text });
    replies.push(await said.then(({ data }) => data.reply, String));
  }
  expect((await env.tools.message_customer({ text: "Goodbye!", close: true })).done).toBe(true);
  return replies;
}

test("a model speaks for the customer, keeps to the facts, and is not asked twice", LIMIT, async () => {
  await using chat = await startChatServer((response, nth) => {
    sayText(
      response,
      ["Hi, thanks for asking!", `Sure, my PIN is ${pin}, there you go.`, "I forgot it."][nth - 1] ?? "",
    );
  });
  const folder = await mkdtemp(join(tmpdir(), "openenv-customer-"));
  try {
    const answers = join(folder, "answers.jsonl");
    const model = { CUSTOMER_URL: chat.url, CUSTOMER_MODEL: "tiny", CUSTOMER_KEY: "k-1", CUSTOMER_ANSWERS: answers };
    const replies = ["Hi, thanks for asking!", `Sure, my PIN is ${pin}, there you go.`, `My PIN is ${pin}.`];
    expect(await ask(model, QUESTIONS)).toEqual(replies);
    expect(chat.requests.map(({ body }) => JSON.stringify(body.messages).includes(pin))).toEqual([false, true, true]);
    expect((await readFile(answers, "utf8")).trim().split("\n")).toHaveLength(3);
    // Only with the recorded answers: another question has none, and the session continues.
    const again = await ask({ CUSTOMER_ANSWERS: answers }, [...QUESTIONS, "Anything else?"]);
    expect(again).toEqual([...replies, expect.stringMatching(/no recorded answer/)]);
    expect(chat.requests).toHaveLength(3);
  } finally {
    await rm(folder, { recursive: true });
  }
});
