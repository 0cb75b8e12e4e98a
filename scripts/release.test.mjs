import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { copyMetadata, findDifferences, findMissing } from "./release-check.mjs";
import { follow } from "./release-version.mjs";

const ADDRESSES = {
  repository: "https://forge.example/people/openenv",
  homepage: "https://forge.example/people/openenv#readme",
  bugs: "https://forge.example/people/openenv/issues",
};
const CONSTANT = "packages/openenv/src/util/package-version.ts";
const library = { name: "library", version: "1.0.0", dependencies: { ws: "^8.0.0" } };
const tool = { name: "tool", version: "1.0.0", dependencies: { library: "1.0.0" } };
const environment = { name: "environment", version: "1.0.0", private: true, dependencies: { library: "1.0.0" } };

let root;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "openenv-release-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  write("package.json", { workspaces: ["packages/*", "environment"], ...ADDRESSES });
  write("packages/library/package.json", library);
  write("packages/tool/package.json", tool);
  write("environment/package.json", environment);
  write(".changeset/config.json", { fixed: [["library", "tool"]] });
  copyMetadata(root);
});

test("a release waits until repository, homepage and bugs are https addresses", () => {
  expect(findMissing(root)).toEqual([]);
  write("package.json", { workspaces: ["packages/*"], ...ADDRESSES, repository: "", bugs: "write to us" });
  expect(findMissing(root)).toEqual([
    'package.json: repository must be an https address, got ""',
    'package.json: bugs must be an https address, got "write to us"',
  ]);
});

test("published packages get the addresses of the root, private ones do not", () => {
  expect(findDifferences(root)).toEqual([]);
  expect(read("packages/tool/package.json")).toMatchObject({
    repository: { type: "git", url: "git+https://forge.example/people/openenv.git", directory: "packages/tool" },
    homepage: ADDRESSES.homepage,
    bugs: { url: ADDRESSES.bugs },
  });
  expect(read("environment/package.json")).toEqual(environment);
  write("package.json", { workspaces: ["packages/*"], ...ADDRESSES, homepage: "https://docs.example/openenv" });
  expect(findDifferences(root)).toEqual([
    "packages/library/package.json: homepage differs from the root; run: npm run release -- metadata",
    "packages/tool/package.json: homepage differs from the root; run: npm run release -- metadata",
  ]);
});

test("different versions, a pinned dependency and a package without a changelog are reported", () => {
  write("packages/tool/package.json", { ...read("packages/tool/package.json"), version: "1.0.1" });
  write("packages/library/package.json", { ...read("packages/library/package.json"), dependencies: { ws: "8.0.0" } });
  write(".changeset/config.json", { fixed: [["library"]] });
  expect(findDifferences(root)).toEqual([
    "packages/library/package.json: ws must be a range such as ^1.2.3",
    "published packages have different versions: 1.0.0, 1.0.1",
    ".changeset/config.json: fixed must list every published package: library, tool",
  ]);
});

test("a package has the dependencies of the parts that it contains", () => {
  write("packages/part/package.json", { name: "part", private: true, dependencies: { ws: "^8.1.0", pino: "^10.0.0" } });
  expect(findDifferences(root)).toEqual([]);
  write("packages/library/package.json", { ...read("packages/library/package.json"), imports: { "#parts/*": "part" } });
  expect(findDifferences(root)).toEqual([
    "packages/library/package.json: the part packages/part needs ws ^8.1.0 in dependencies",
    "packages/library/package.json: the part packages/part needs pino ^10.0.0 in dependencies",
  ]);
});

test("a new version is written into the workspaces and templates that depend on it, and into the constant", () => {
  write("packages/openenv/package.json", { ...library, name: "openenv-ts", version: "1.1.0" });
  mkdirSync(dirname(join(root, CONSTANT)), { recursive: true });
  writeFileSync(join(root, CONSTANT), 'export const PACKAGE_VERSION = "1.0.0";\n');
  write("packages/tool/templates/env/package.json", {
    name: "game",
    devDependencies: { library: "1.0.0", ws: "8.0.0" },
  });
  write("packages/tool/templates/other/tsconfig.json", {});
  write("packages/library/package.json", { ...library, version: "1.1.0" });
  follow(root);
  expect(read("packages/tool/templates/env/package.json").devDependencies).toEqual({ library: "1.1.0", ws: "8.0.0" });
  expect(read("environment/package.json").dependencies).toEqual({ library: "1.1.0" });
  expect(readFileSync(join(root, CONSTANT), "utf8")).toBe('export const PACKAGE_VERSION = "1.1.0";\n');
});

function write(file, value) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), JSON.stringify(value));
}

function read(file) {
  return JSON.parse(readFileSync(join(root, file), "utf8"));
}
