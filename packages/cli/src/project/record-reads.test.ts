import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createProject } from "../../../../test-support/commands/command-line.js";

/** In a process of its own: what it wraps stays wrapped. */
test("reads are recorded however they are made, and what is only written is not", async () => {
  const module = pathToFileURL(join(import.meta.dirname, "../../dist/project/record-reads.js")).href;
  await using project = await createProject({
    "data/a.txt": "a",
    "main.mjs": `import { recordReads } from ${JSON.stringify(module)};
      const seen = [];
      recordReads((path) => seen.push(path));
      await import("./reads.mjs");
      console.log(JSON.stringify(seen.filter((path) => path.startsWith(process.cwd()))));`,
    "reads.mjs": `import { createReadStream, readFileSync, openSync, writeFileSync } from "node:fs";
      import { open, readdir, readFile } from "node:fs/promises";
      import { createRequire } from "node:module";
      readFileSync(new URL("./data/a.txt", import.meta.url));
      await readFile("data/b.txt").catch(() => {});
      await readdir(import.meta.dirname + "/data");
      createReadStream("data/c.txt").on("error", () => {});
      openSync("data/written.txt", "w");
      writeFileSync("data/written.txt", "");
      await open("data/d.txt").catch(() => {});
      createRequire(import.meta.url)("./package.json");`,
  });
  const { stdout } = await promisify(execFile)(process.execPath, ["main.mjs"], { cwd: project.dir });
  const names = (JSON.parse(stdout) as string[]).map((path) => path.slice(project.dir.length + 1));
  expect([...new Set(names)].sort()).toEqual([
    "data",
    "data/a.txt",
    "data/b.txt",
    "data/c.txt",
    "data/d.txt",
    "package.json",
    "reads.mjs",
  ]);
});
