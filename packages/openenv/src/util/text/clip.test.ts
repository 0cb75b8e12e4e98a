import { expect, test } from "vitest";
import { clip } from "./clip.js";

test.each([
  ["short", 10, "short"],
  ["too long", 3, "too"],
  ["a😀b", 2, "a\ufffd"],
  ["\ude00x", 5, "\ufffdx"],
  ["😀", 2, "😀"],
])("%j in %i characters is %j", (text, max, clipped) => {
  expect(clip(text, max)).toBe(clipped);
});
