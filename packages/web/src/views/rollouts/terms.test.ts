import { describe, expect, test } from "vitest";
import { chipsOf, queryOf, rangeOf, withoutChip, withRange, withWord, wordOf } from "./terms.js";

describe("chips", () => {
  test("are the terms in the order of the text, with an invalid one in its place", () => {
    const text = 'reward:<=0.10 stepz:>3 -split:train "money back" duration:>90s';
    const chips = chipsOf(text);
    expect(chips.map(({ label }) => label)).toEqual([
      "reward ≤ 0.1",
      "stepz:>3",
      "not split: train",
      "“money back”",
      "duration > 1:30",
    ]);
    expect(chips[1]?.problem).toMatch(/Did you mean steps\?/);
    expect(withoutChip(text, chips[1] as (typeof chips)[1])).toBe(
      'reward:<=0.10 -split:train "money back" duration:>90s',
    );
  });

  test("name a failure by its text", () => {
    expect(chipsOf("error:k1 error:k2", (key) => (key === "k1" ? "refund" : undefined)).map((c) => c.label)).toEqual([
      "failure: refund",
      "failure: k2",
    ]);
  });
});

describe("a term of the query", () => {
  test("is replaced, and the others stay as they are written", () => {
    const text = "split:train  reward:0.2..0.5 -reward:<0";
    expect(rangeOf(text, "reward")).toEqual({ min: 0.2, max: 0.5 });
    expect(withRange(text, "reward", { min: null, max: -0.5, exclusive: true })).toBe(
      "split:train -reward:<0 reward:<-0.5",
    );
    expect(withRange(text, "reward", undefined)).toBe("split:train -reward:<0");
  });

  test("is removed, added and quoted", () => {
    expect(withWord("run:a steps:>2", "run", "b c")).toBe('steps:>2 run:"b c"');
    expect(wordOf('steps:>2 run:"b c"', "run")).toBe("b c");
    expect(withWord("outcome:stuck", "outcome", undefined)).toBe("");
  });

  test("is removed from a text that begins with spaces", () => {
    expect(withWord("  run:a steps:>2 run:b ", "run", undefined)).toBe("steps:>2");
  });

  test("has each value that is known", () => {
    expect(queryOf({ group: 'a "b"', run: null, policy: 40 })).toBe('group:"a \\"b\\"" policy:40');
    expect(queryOf({ run: null })).toBe("");
  });
});
