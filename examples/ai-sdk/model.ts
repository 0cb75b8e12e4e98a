import { MockLanguageModelV3 } from "ai/test";
import type { Script } from "../script.js";

/** A model of the AI SDK that follows a script. */
export function scriptedModel(script: Script): MockLanguageModelV3 {
  const turns = script.values();
  let calls = 0;
  const tokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
  const usage = { inputTokens: tokens, outputTokens: { total: 0, text: 0, reasoning: 0 } };
  return new MockLanguageModelV3({
    doGenerate: async () => {
      const { value: turn } = turns.next();
      const wanted = (turn ?? []).map(([toolName, given]) => ({
        ...({ type: "tool-call", toolCallId: `call-${++calls}`, toolName, input: JSON.stringify(given) } as const),
      }));
      const unified = turn ? "tool-calls" : "stop";
      const content = turn ? wanted : [{ type: "text" as const, text: "I am done." }];
      return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
    },
  });
}
