import { expect, test } from "vitest";
import { rng } from "../rng.js";
import { escapeJson } from "./escape-json.js";

const escaped = (text: string): string => Buffer.concat(escapeJson(text)).toString();
const byStringify = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Compared without `expect`, which would format both texts. */
const isSame = (text: string): boolean => escaped(text) === byStringify(text);

test.each([
  ["no text", ""],
  ["every character below U+0800", String.fromCharCode(...Array(0x800).keys())],
  ["characters with the bits of escaped ones", "\u0022\u00a2\u00dc\u009f\u5c5c\u2222\u{22220}"],
  ["only escapes of six bytes", "\u0000".repeat(200_000)],
  ["only escapes of two bytes", '"\\\n'.repeat(70_000)],
  ["characters of two, three and four bytes", "é—\u{1f600}".repeat(50_000)],
])("%s", (_, text) => {
  expect(isSame(text)).toBe(true);
});

test("each position of an escape in a word of four bytes", () => {
  const texts = Array.from({ length: 8 }, (_, before) => `${"a".repeat(before)}"${"b".repeat(7 - before)}`);
  expect(texts.map(escaped)).toEqual(texts.map(byStringify));
});

test("characters at the end of a chunk stay whole", () => {
  for (let before = 65_530; before < 65_540; before++) {
    expect(isSame(`${"a".repeat(before)}\u{1f600}"é\u0001`), `after ${before} characters`).toBe(true);
  }
});

test("random texts", () => {
  const { int, pick } = rng(7);
  const alphabet = ["a", "word ", '"', "\\", "\n", "\u0000", "\u007f", "é", "\u2028", "—", "\u{1f600}"];
  for (let i = 0; i < 200; i++) {
    const text = Array.from({ length: int(0, 2_000) }, () => pick(alphabet)).join("");
    expect(isSame(text), JSON.stringify(text)).toBe(true);
  }
});
