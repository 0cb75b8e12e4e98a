import { expect, test } from "vitest";
import { hasAnsi, parseAnsi, withoutAnsi } from "./ansi.js";

const E = "\x1b";

test.each([
  ["plain", [["plain", ""]]],
  [
    `${E}[31mred${E}[0m.`,
    [
      ["red", "ansi-fg-red"],
      [".", ""],
    ],
  ],
  [
    `${E}[1;92;44mx${E}[22;39my`,
    [
      ["x", "ansi-bold ansi-fg-green ansi-bg-blue"],
      ["y", "ansi-bg-blue"],
    ],
  ],
  [
    `${E}[38;5;196mx${E}[38;2;0;200;220my`,
    [
      ["x", "ansi-fg-red"],
      ["y", "ansi-fg-cyan"],
    ],
  ],
  [`${E}[mreset`, [["reset", ""]]],
])("%j is shown in its looks", (text, spans) => {
  expect(parseAnsi(text as string).map(({ text, look }) => [text, look])).toEqual(spans);
});

test.each([
  [`${E}]8;;https://evil.example${E}\\click${E}]8;;${E}\\`, "click"],
  [`${E}]0;title\x07text`, "text"],
  [`a${E}[2J${E}[1;1Hb`, "ab"],
  [`a${E}[?25lb${E}c`, "ab"],
  [`cut ${E}[`, "cut "],
  [`cut ${E}`, "cut "],
])("%j loses its links, titles and movements", (text, words) => {
  expect(
    parseAnsi(text)
      .map((span) => span.text)
      .join(""),
  ).toBe(words);
});

test("is found only where there is a sequence", () => {
  expect([hasAnsi("[31m"), hasAnsi(`${E}[0m`)]).toEqual([false, true]);
  expect(withoutAnsi(`${E}[31mred${E}[0m`)).toBe("red");
});

test("takes time in proportion to the text", () => {
  const text = `${E}[`.repeat(100_000) + `${E}]`.repeat(100_000);
  expect(parseAnsi(text).length).toBeLessThan(200_001);
});
