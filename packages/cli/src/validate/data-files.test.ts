import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { type Check, runChecks } from "../../../openenv/src/testing/report.js";
import { dataFilesCheck } from "./data-files.js";

const COPIES = `tsc && node -e "fs.cpSync('data', 'dist/data', { recursive: true })"`;

async function check(source: string, build?: string, read: readonly string[] = []): Promise<Check | undefined> {
  await using project = await createProject({
    "package.json": JSON.stringify({ type: "module", scripts: { ...(build && { build }) } }),
    "server/environment.ts": `import "./game.js";`,
    "server/game.ts": source,
    "server/words.txt": "crane",
    "data/train.jsonl": "{}",
  });
  const entry = join(project.dir, "server/environment.ts");
  const paths = new Set(read.map((path) => join(project.dir, path)));
  return (await runChecks("", [dataFilesCheck(project.dir, entry, paths)])).checks[0];
}

const name = (path: string): string => `export const file = new URL("${path}", import.meta.url);`;

test.each([
  ["a file in data/ that the build copies", name("../data/train.jsonl"), COPIES],
  ["the folder itself", name("../data/"), "tsc && npm run data"],
  ["a file next to a module that runs as it is", name("./words.txt"), undefined],
  ["a module of its own", name("./worker.js"), "tsc"],
  ["no file", "export const word = 'crane';", "tsc"],
])("%s passes", async (_, source, build) => {
  expect(await check(source, build)).toMatchObject({ status: "passed" });
});

test.each([
  ["a build that leaves data/ out", name("../data/train.jsonl"), "tsc", /^server\/game.ts names .* does not copy data/],
  ["a file that the build leaves out", name("./words.txt"), COPIES, /words.txt", which the build does not copy/],
  ["a file that is missing", name("../data/test.jsonl"), COPIES, /there is no such file/],
  ["a file of another package", name("../../../../package.json"), COPIES, /outside of the package/],
  [
    "a path of the working directory",
    'readJsonl("data/train.jsonl"); declare function readJsonl(file: string): void;',
    COPIES,
    /found only in one working directory/,
  ],
])("%s fails", async (_, source, build, detail) => {
  expect(await check(source, build)).toMatchObject({ status: "failed", detail: expect.stringMatching(detail) });
});

test("what was read counts also where no module names it", async () => {
  const nothing = "export const word = 'crane';";
  const fine = ["data/train.jsonl", "server/game.ts", "node_modules/a/words.txt", ".openenv/x.mjs", "missing.txt"];
  expect(await check(nothing, COPIES, fine)).toMatchObject({ status: "passed" });
  expect(await check(nothing, COPIES, ["server/words.txt"])).toMatchObject({
    status: "failed",
    detail: "the environment reads server/words.txt, which the build does not copy",
  });
});
