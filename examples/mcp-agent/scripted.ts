import type { AssistantMessage, ModelMessage, WantedCall } from "../chat.js";
import type { ToolPolicy } from "./play.js";

/** Weighs every box and opens the heaviest; uses only the results of the tools. */
export const scriptedPolicy: ToolPolicy = async (messages) => {
  const answers = messages
    .filter(({ role }) => role === "tool")
    .map(({ content }) => JSON.parse(content ?? "") as unknown);
  const [boxes, ...weighed] = answers as [string[] | undefined, ...{ grams: number }[]];
  if (boxes === undefined) return wants(messages, ["list_boxes", {}]);
  if (weighed.length === 0) return wants(messages, ...boxes.map((name): Wish => ["weigh", { name }]));
  const grams = weighed.map((weight) => weight.grams);
  return wants(messages, ["open", { name: boxes[grams.indexOf(Math.max(...grams))] }]);
};

type Wish = [name: string, given: object];

function wants(messages: readonly ModelMessage[], ...wishes: Wish[]): AssistantMessage {
  const calls = wishes.map(([name, given], index): WantedCall => {
    const wanted = { name, arguments: JSON.stringify(given) };
    return { id: `call-${messages.length}-${index}`, type: "function", function: wanted };
  });
  return { role: "assistant", content: null, tool_calls: calls };
}
