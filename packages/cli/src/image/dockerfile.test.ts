import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

test("no package runs an install script in the image, but for those that the builder names", async () => {
  const url = new URL("../../templates/env/server/Dockerfile", import.meta.url);
  const dockerfile = (await readFile(url, "utf8")).replaceAll(/\\\n|^#.*$/gm, "");
  const calls = dockerfile.match(/npm (?:ci|install|prune|rebuild)\b[^&;\n]*/g) ?? [];
  expect(calls).toHaveLength(3);
  for (const call of calls) expect(call).toMatch(/ --ignore-scripts |^npm rebuild \$REBUILD$/);
  expect(dockerfile).toMatch(/if \[ -n "\$REBUILD" \]; then npm rebuild \$REBUILD; fi/);
});
