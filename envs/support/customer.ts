import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { ChatModel } from "openenv-ts";
import { createChatEndpoint, recordedModel } from "openenv-ts/wrappers";

const LONGEST_ANSWER = 2_000;
const PROMPT = `You are a customer who writes with the support of a shop. You began with: "OPENING"
Answer the agent's last message in one or two sentences of your own. Say what the note says and nothing else, with its
numbers, names and addresses exactly as they are.`;

/**
 * The model that says in its words what the script of the customer answers: `CUSTOMER_MODEL` at the OpenAI-compatible
 * `CUSTOMER_URL`, with `CUSTOMER_KEY`. The file `CUSTOMER_ANSWERS` gets its answers, which are not asked for again. Undefined
 * without an address and a file.
 */
export function findModel(variables: Readonly<Record<string, string | undefined>>): ChatModel | undefined {
  const { CUSTOMER_URL: url, CUSTOMER_MODEL: model, CUSTOMER_KEY: apiKey, CUSTOMER_ANSWERS: file } = variables;
  if (!url && !file) return undefined;
  const lines = file && existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  const known = new Map(lines.map((line) => JSON.parse(line) as [messages: string, answer: string]));
  const answers = {
    get: (messages: string) => known.get(messages),
    set: (messages: string, answer: string) => {
      known.set(messages, answer);
      if (file) appendFileSync(file, `${JSON.stringify([messages, answer])}\n`);
    },
  };
  const given = { url: url ?? "", model: model ?? "", ...(apiKey && { apiKey }), request: { temperature: 0 } };
  return recordedModel(answers, url ? createChatEndpoint(given) : undefined);
}

/** Lets the model say it. The model knows no more than the note, and an answer without one of its facts is the note itself. */
export async function sayAs(
  model: ChatModel,
  { opening, text, note }: { opening: string; text: string; note: string },
  signal?: AbortSignal,
): Promise<string> {
  const system = PROMPT.replace("OPENING", () => opening);
  const said = await model(
    [
      { role: "system", content: system },
      { role: "user", content: `The agent wrote: ${text}\n\nNote: ${note}` },
    ],
    signal,
  );
  const facts = [...note.matchAll(/PIN is \d+|(?<=address is: ).*/g)].map(([fact]) => fact);
  return facts.every((fact) => said.includes(fact)) ? said.slice(0, LONGEST_ANSWER) : note;
}
