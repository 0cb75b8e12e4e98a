import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./root.mjs";

const { scripts } = JSON.parse(read("package.json"));
const workflows = readdirSync(join(ROOT, ".github/workflows")).map((name) => `.github/workflows/${name}`);

test.each(["CONTRIBUTING.md", ".ci/run", ...workflows])("%s names only scripts that exist", (file) => {
  const used = [...read(file).matchAll(/npm (?:run )?(start|test|(?<=run )[\w:-]+)/g)].map(([, name]) => name);
  expect(used.filter((name) => !(name in scripts))).toEqual([]);
});

test.each([
  ["bench", [], "No benchmark was named. Use: npm run bench -- balancer|extensions|"],
  ["bench", ["harness"], 'There is no benchmark "harness". Use: npm run bench -- balancer|extensions|'],
  ["release", [], "Use: npm run release -- check|version|publish|metadata\n"],
  ["release", ["toString"], "Use: npm run release -- check|version|publish|metadata\n"],
])("npm run %s -- %s prints what it takes", (name, args, expected) => {
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, `scripts/${name}.mjs`), ...args], {
    encoding: "utf8",
  });
  expect(stderr.slice(0, expected.length)).toBe(expected);
  expect(status).toBe(2);
});

function read(file) {
  return readFileSync(join(ROOT, file), "utf8");
}
