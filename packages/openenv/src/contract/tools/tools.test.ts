import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineTools } from "../../index.js";

const described = { description: "Does something." };

describe("a tool cannot be defined", () => {
  test.each(["reset", "step", "state", "close"])("with the reserved name %s", (name) => {
    const define = () => defineTools({ [name]: described });
    expect(define).toThrow(
      expect.objectContaining({ code: "INVALID_TOOL", message: expect.stringMatching(/reserved/) }),
    );
    expect(() => defineContract({ name: "a", tools: { [name]: described } })).toThrow(/reserved/);
  });

  test.each([
    ["a name with a space", { "two words": described }],
    ["a name of 65 characters", { ["x".repeat(65)]: described }],
    ["an empty name", { "": described }],
    ["no description", { go: { description: " " } }],
    ["an input that is not an object", { go: { ...described, input: z.string() as never } }],
    ["a timeout of zero", { go: { ...described, timeoutMs: 0 } }],
    ["a timeout that is NaN", { go: { ...described, timeoutMs: Number.NaN } }],
  ])("with %s", (_what, tools) => {
    expect(() => defineTools(tools)).toThrow(expect.objectContaining({ code: "INVALID_TOOL" }));
  });

  test("together with an action that declares a field `type`", () => {
    const define = () =>
      defineContract({
        name: "a",
        action: z.object({ type: z.string() }),
        observation: z.object({}),
        tools: { go: described },
      });
    expect(define).toThrow(/must not declare "type"/);
  });
});
