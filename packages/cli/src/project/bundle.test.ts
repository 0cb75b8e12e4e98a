import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { BundleError, bundle } from "./bundle.js";

test("the bundle lies in the nearest package, in a folder that git ignores, unless another is named", async () => {
  await using project = await createProject({ "server/environment.ts": "export const a: number = 1;" });
  const { file } = await bundle(join(project.dir, "server/environment.ts"));
  expect(file).toBe(join(project.dir, ".openenv/server-environment.ts.mjs"));
  expect(await readFile(join(project.dir, ".openenv/.gitignore"), "utf8")).toBe("*\n");
  const elsewhere = await bundle(join(project.dir, "server/environment.ts"), { outDir: join(project.dir, "out") });
  expect(elsewhere.file).toBe(join(project.dir, "out/server-environment.ts.mjs"));
});

test("packages stay imports and own files are joined", async () => {
  await using project = await createProject({
    "main.ts": 'import * as z from "zod"; import { two } from "./two.js"; export const ok = z.int().parse(two);',
    "two.ts": 'import data from "./data.json" with { type: "json" }; export const two: number = data.two;',
    "data.json": '{ "two": 2 }',
  });
  const { file, inputs } = await bundle(join(project.dir, "main.ts"));
  expect(await readFile(file, "utf8")).toContain('from "zod"');
  expect(inputs.sort()).toEqual(["data.json", "main.ts", "two.ts"].map((name) => join(project.dir, name)));
  expect(await import(pathToFileURL(file).href)).toMatchObject({ ok: 2 });
});

test("import.meta keeps telling the place of each source file", async () => {
  const tell = "export default [import.meta.url, import.meta.dirname, import.meta.filename];";
  await using project = await createProject({
    "main.ts": `export { default as inner } from "./deep/inner.js";\n${tell}`,
    "deep/inner.ts": `#!/usr/bin/env node\n${tell}`,
  });
  const module = await import(pathToFileURL((await bundle(join(project.dir, "main.ts"))).file).href);
  const placeOf = (folder: string, name: string) => {
    const path = join(folder, name);
    return [pathToFileURL(path).href, folder, path];
  };
  expect(module.default).toEqual(placeOf(project.dir, "main.ts"));
  expect(module.inner).toEqual(placeOf(join(project.dir, "deep"), "inner.ts"));
});

test("newer syntax is lowered to what Node 20 runs", async () => {
  await using project = await createProject({
    "main.ts": `
      enum Level { Low = 1 }
      class Tidy { constructor(readonly log: string[]) {} [Symbol.dispose]() { this.log.push("disposed"); } }
      export const log: string[] = [];
      { using tidy = new Tidy(log); tidy.log.push(\`level \${Level.Low}\`); }`,
  });
  const module = await import(pathToFileURL((await bundle(join(project.dir, "main.ts"))).file).href);
  expect(module.log).toEqual(["level 1", "disposed"]);
});

test("a source that does not compile names file, line and column of every fault, and the files read so far", async () => {
  await using project = await createProject({
    "main.ts": 'import "./broken.js";\nimport "./missing.js";',
    "broken.ts": "export const a = 1;\nexport const b = ;",
  });
  const error = await bundle(join(project.dir, "main.ts")).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(BundleError);
  expect((error as BundleError).message).toMatch(/broken\.ts:2:18: Unexpected ";"\n/);
  expect((error as BundleError).message).toMatch(/main\.ts:2:8: Could not resolve "\.\/missing\.js"\n/);
  expect((error as BundleError).inputs).toContain(join(project.dir, "broken.ts"));
  expect(existsSync(join(project.dir, ".openenv"))).toBe(false);
});

test("compilations of one file at the same time do not disturb each other", async () => {
  await using project = await createProject({ "main.ts": "export const a: number = 1;" });
  const bundles = await Promise.all(Array.from({ length: 5 }, () => bundle(join(project.dir, "main.ts"))));
  for (const { file } of bundles) expect(await import(pathToFileURL(file).href)).toMatchObject({ a: 1 });
});
