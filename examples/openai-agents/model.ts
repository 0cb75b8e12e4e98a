import { type Model, type ModelResponse, Usage } from "@openai/agents";
import type { Script } from "../script.js";

/** A model of the OpenAI Agents SDK that follows a script. */
export function scriptedModel(script: Script): Model {
  const turns = script.values();
  let calls = 0;
  return {
    getResponse: async () => {
      const { value: turn } = turns.next();
      const wanted = (turn ?? []).map(([name, given]) => {
        return { type: "function_call" as const, callId: `call-${++calls}`, name, arguments: JSON.stringify(given) };
      });
      return { usage: new Usage(), output: turn ? wanted : [FAREWELL] };
    },
    getStreamedResponse: () => {
      throw new Error("The script is not streamed.");
    },
  };
}

const FAREWELL: ModelResponse["output"][number] = {
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "I am done." }],
};
