import { expect, test } from "vitest";
import { findMissing } from "../platforms.mjs";
import { judge } from "./files.mjs";

const at = (...parts) => parts.join("/");

test("a file of 400 lines is the longest", () => {
  expect(judge("a.ts", "x\n".repeat(400))).toEqual([]);
  expect(judge("a.ts", "x\n".repeat(401))).toEqual(["a.ts has 401 lines; 400 is the limit."]);
  expect(judge("a.md", "x\n".repeat(401))).toEqual([]);
});

test("the package.json of the root has at most 12 scripts", () => {
  const withScripts = (count) => JSON.stringify({ scripts: Object.fromEntries(Array(count).fill("true").entries()) });
  expect(judge("package.json", withScripts(12))).toEqual([]);
  expect(judge("package.json", withScripts(13))).toEqual(["package.json has 13 scripts; 12 is the limit."]);
  expect(judge("envs/echo/package.json", withScripts(13))).toEqual([]);
});

test.each([
  ["turns a type rule off", `// biome-${"ignore"} lint/suspicious/noExplicitAny: lazy`],
  ["turns a type rule off", `// @ts-${"ignore"}`],
  ["runs one test only", `test.${"only"}("x", () => {});`],
  ["names a path of one machine", `const file = "${at("", "home", "ada", "x")}";`],
  ["names a path of one machine", `cd ${at("", "tmp", "x")}`],
  ["carries the address of a registry", `"resolved": ${'"https://registry.example/x.tgz"'}`],
])("what %s is named with its line", (what, text) => {
  const [problem, ...others] = judge("a.ts", `const a = 1;\n${text}\n`);
  expect(problem).toMatch(new RegExp(`^a\\.ts:2 ${what}: `));
  expect(others).toEqual([]);
});

test.each([
  ["must be a text", 'throw new TypeError("name must be a text");'],
  ["from 1 on", "/** A number from 1 on. */"],
  ["is told", "// The client is told why."],
  ["beside", "// The file beside it."],
  ["whoever", "// For whoever asks."],
  ["is no object", "// A value that is no object."],
])("the phrase %s is named in code and pages", (phrase, text) => {
  for (const file of ["envs/echo/README.md", "packages/openenv/src/errors.ts", "docs/guide/tasks.md"]) {
    const [problem, ...others] = judge(file, `\n${text}\n`);
    expect(problem).toMatch(new RegExp(`^${file}:2 is not plain English .*: ${phrase}$`));
    expect(others).toEqual([]);
  }
});

test("the language of tests, generated pages and other packages is not checked", () => {
  for (const file of ["openenv/src/session/session.test.ts", "docs/reference/api.md", "web/src/app.tsx"]) {
    expect(judge(file, "// whoever is told\n")).toEqual([]);
  }
});

test("a lock file without the binaries of other platforms is recognised", () => {
  const packages = {
    "node_modules/tool": { optionalDependencies: { "tool-linux-x64": "1.0.0", "tool-darwin-arm64": "1.0.0" } },
    "node_modules/tool-linux-x64": { version: "1.0.0" },
  };
  expect(findMissing({ packages })).toEqual([{ name: "tool-darwin-arm64", version: "1.0.0", dev: undefined }]);
  packages["node_modules/tool-darwin-arm64"] = { version: "1.0.0" };
  expect(findMissing({ packages })).toEqual([]);
});
