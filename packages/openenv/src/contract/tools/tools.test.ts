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
    ["a name that clients do not take", { "two words": described }],
    ["a name of 65 characters", { ["x".repeat(65)]: described }],
    ["no name", { "": described }],
    ["no description", { go: { description: " " } }],
    ["an input that is no object", { go: { ...described, input: z.string() as never } }],
    ["a limit of no time", { go: { ...described, timeoutMs: 0 } }],
    ["a limit that is none", { go: { ...described, timeoutMs: Number.NaN } }],
  ])("with %s", (_what, tools) => {
    expect(() => defineTools(tools)).toThrow(expect.objectContaining({ code: "INVALID_TOOL" }));
  });

  test("beside an action that has a type of its own", () => {
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
