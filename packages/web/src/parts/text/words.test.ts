import * as fc from "fast-check";
import { expect, test } from "vitest";
import { diffWords } from "./words.js";

test("names the words that differ, and a phrase as one piece", () => {
  expect(diffWords("R is yellow, so out", "R was green in CRANE, so in")).toEqual([
    { text: "R ", side: "both" },
    { text: "is yellow", side: "a" },
    { text: "was green in CRANE", side: "b" },
    { text: ", so ", side: "both" },
    { text: "out", side: "a" },
    { text: "in", side: "b" },
  ]);
  expect(diffWords("same", "same")).toEqual([{ text: "same", side: "both" }]);
});

test("has all of both texts", () => {
  const text = fc.array(fc.constantFrom("a", "b", " ", "\n", "é", ".", "🙂")).map((all) => all.join(""));
  fc.assert(
    fc.property(text, text, (a, b) => {
      const spans = diffWords(a, b);
      const of = (side: "a" | "b") => spans.filter((span) => span.side !== (side === "a" ? "b" : "a"));
      expect([
        of("a")
          .map(({ text }) => text)
          .join(""),
        of("b")
          .map(({ text }) => text)
          .join(""),
      ]).toEqual([a, b]);
    }),
  );
});

test("compares long texts only as a whole", () => {
  const [a, b] = ["x ".repeat(60_000), "y ".repeat(60_000)];
  expect(diffWords(a, b)).toEqual([
    { text: a, side: "a" },
    { text: b, side: "b" },
  ]);
  expect(diffWords("x ".repeat(9_000), "y z ".repeat(5_000)).length).toBeGreaterThan(1);
});
