import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { ChatModel } from "openenv-ts";
import { createChatEndpoint, recordedModel } from "openenv-ts/wrappers";

const LONGEST_ANSWER = 2_000;
/** Below the time limit of a tool. */
const LONGEST_WAIT_MS = 25_000;
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
  if (url && !model) throw new Error("CUSTOMER_URL needs CUSTOMER_MODEL, the name of a model there");
  const known = new Map(file && existsSync(file) ? parse(readFileSync(file, "utf8")) : []);
  const answers = {
    get: (messages: string) => known.get(messages),
    set: (messages: string, answer: string) => {
      known.set(messages, answer);
      if (file) appendFileSync(file, `${JSON.stringify([messages, answer])}\n`);
    },
  };
  if (!url || !model) return recordedModel(answers);
  const given = { url, model, ...(apiKey && { apiKey }), request: { temperature: 0 }, timeoutMs: LONGEST_WAIT_MS };
  return recordedModel(answers, createChatEndpoint(given));
}

/** The recorded answers. The last line may be torn, if the server was killed. */
function parse(text: string): [messages: string, answer: string][] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** Asks the model to rephrase the note, which is all that it knows. Returns the note if a fact is missing. */
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
  const reply = said.slice(0, LONGEST_ANSWER).replace(/\p{Surrogate}/gu, "\ufffd");
  return facts.every((fact) => reply.includes(fact)) ? reply : note;
}
