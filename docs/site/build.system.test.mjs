import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const HERE = import.meta.dirname;
const DIST = join(HERE, "dist");

test("the site has every page of the documentation, as HTML and as Markdown", { timeout: 300_000 }, async () => {
  await promisify(execFile)(process.execPath, [join(HERE, "build.mjs")]);
  const guide = readdirSync(join(HERE, "../guide"), { recursive: true })
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.replace(/\.md$/, "").replace(/README$/, "index"));
  for (const name of guide) {
    for (const ending of ["html", "md"])
      expect(existsSync(join(DIST, `docs/guide/${name}.${ending}`)), name).toBe(true);
  }
  const index = readFileSync(join(DIST, "llms.txt"), "utf8");
  const linked = [...index.matchAll(/\]\(\/(.*?)\)/g)].map(([, page]) => page);
  expect(linked).toEqual(expect.arrayContaining(["index.md", "docs/guide/create.md", "docs/reference/wire.md"]));
  expect(linked.filter((page) => !existsSync(join(DIST, page)))).toEqual([]);
  const styles = readdirSync(join(DIST, "assets")).filter((name) => name.endsWith(".css"));
  for (const name of styles) expect(readFileSync(join(DIST, "assets", name), "utf8")).not.toMatch(/url\(["']?https?:/);
});
