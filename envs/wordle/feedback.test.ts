import { expect, test } from "vitest";
import { markGuess, renderFeedback } from "./feedback.js";

test.each([
  ["crane", "crane", "GGGGG"],
  ["crane", "moist", "XXXXX"],
  ["speed", "abide", "XXYXY"],
  ["eerie", "crepe", "YXYXG"],
  ["allee", "apple", "GYXXG"],
  ["lolly", "hello", "XYGGX"],
  ["geese", "eject", "XYGXX"],
  ["abbey", "babes", "YYGGX"],
  ["mamma", "maxim", "GGYXX"],
])("%s for the secret %s is marked %s", (guess, secret, marks) => {
  expect(markGuess(guess, secret).join("")).toBe(marks);
});

test("feedback is a row of letters above a row of marks", () => {
  expect(renderFeedback("crane", ["G", "X", "Y", "X", "X"])).toBe("C R A N E\nG X Y X X");
});
