import { describe, expect, test } from "vitest";
import { anchorId, withoutFrontMatter } from "./readme-text.js";

describe("the text of a README", () => {
  test.each([
    ["---\ntitle: A\nsdk: docker\n---\n# A", "# A"],
    ["---\r\ntitle: A\r\n---\r\n# A", "# A"],
    ["# A\n\n---\n\nb\n\n---\n", "# A\n\n---\n\nb\n\n---\n"],
    ["---\nnever closed", "---\nnever closed"],
  ])("%j has lost the settings of a Space", (text, expected) => {
    expect(withoutFrontMatter(text)).toBe(expected);
  });

  test.each([
    ["Action and observation", "readme-action-and-observation"],
    ["What's new?", "readme-whats-new"],
    ["Größe 1.0", "readme-größe-10"],
  ])("a link to %j finds its heading", (heading, id) => {
    expect(anchorId(heading)).toBe(id);
  });
});
