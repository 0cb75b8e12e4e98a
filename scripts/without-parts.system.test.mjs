/** A checkout without the parts that may be missing. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readModule } from "./checks/imports.mjs";
import { ROOT } from "./root.mjs";
import { OPTIONAL_PARTS } from "./setup.mjs";

/** Without declarations, which would name the real paths of the linked packages. */
const TSC = `node_modules/typescript/bin/tsc -p tsconfig.check.json --incremental false --declaration false`.split(" ");
const VITEST = ["node_modules/vitest/vitest.mjs", "run", "--project", "core", "--maxWorkers=1"];
const CONFORMANCE = ["conformance/replay", "conformance/promises.test.ts", "conformance/differences.test.ts"];
const PAGE = "packages/web/dist";
/** The lines of divergences.yaml about routes that /openapi.json lists only with the part durable. */
const ROUTES_OF_PARTS = /^.*\/sessions\/\{session_id\}\/(?:fork|events): \[.*\n/gm;
/** Options that need a part, and what the error names. */
const OPTIONS = {
  "packages/cluster": [
    [{ workers: 2 }, "WORKERS 2"],
    [{ supervise: true }, "supervise"],
    [{ heapMb: 100 }, "HEAP_MB 100"],
  ],
  "packages/durable": [
    [{ journal: "memory" }, "JOURNAL"],
    [{ resumeAnswers: 7 }, "RESUME_ANSWERS"],
  ],
  "packages/rollouts": [[{ store: "./data" }, "OPENENV_STORE"]],
  "packages/isolation": [
    [{ isolation: "thread", module: "file:///environment.js" }, 'ISOLATION "thread"'],
    [{ isolation: "process", module: "file:///environment.js", isolatePoolSize: 2 }, 'ISOLATION "process"'],
  ],
};
const OPTIONS_TEST = `
import { expect, test } from "vitest";
import { serve } from "./packages/openenv/src/serve.js";
import { defineCounter } from "./test-support/environments/counter.js";
const OPTIONS = ${JSON.stringify(OPTIONS)};
const cases = Object.entries(OPTIONS).flatMap(([part, all]) =>
  all.map(([options, setting]) => [options, \`\${setting} needs the part "\${part.replace("packages/", "")}" of openenv-ts\`]),
);
test.each(cases)("%o", async (options, message) => {
  const { environment } = defineCounter();
  const error = { code: "INVALID_CONFIG", message: expect.stringContaining(message) };
  await expect(serve(environment, { port: 0, ...options })).rejects.toMatchObject(error);
});
`;

// So the rest compiles as well if only one is missing.
test("no part imports another one of them, in its tests either", () => {
  const others = (part) => OPTIONAL_PARTS.filter((other) => other !== part).map((other) => other.split("/")[1]);
  const found = OPTIONAL_PARTS.flatMap((part) => {
    const another = new RegExp(`^(#parts/|@openenv-ts/|packages/)(${others(part).join("|")})(/|$)`);
    const files = listFiles().filter((file) => file.startsWith(`${part}/`) && /\.m?[tj]s$/.test(file));
    expect(files).not.toEqual([]);
    return files.filter((file) =>
      readModule(join(ROOT, file)).imports.some(({ specifier }) =>
        another.test(specifier.startsWith(".") ? join(file, "..", specifier) : specifier),
      ),
    );
  });
  expect(found).toEqual([]);
});

test("without these parts the rest compiles and plays every recorded case, and options name the part", {
  timeout: 900_000,
}, () => {
  const copy = copyWithout(OPTIONAL_PARTS);
  const known = join(copy, "conformance/divergences.yaml");
  writeFileSync(known, readFileSync(known, "utf8").replaceAll(ROUTES_OF_PARTS, ""));
  writeFileSync(join(copy, "missing-part.test.ts"), OPTIONS_TEST);
  expect(run(copy, TSC)).toEqual({ status: 0, output: "" });
  const { status, output } = run(copy, [...VITEST, "missing-part.test.ts", ...CONFORMANCE]);
  expect(status, output).toBe(0);
  expect(output).toContain("missing-part.test.ts");
});

/** The checkout with what is installed and the page, without these parts. */
function copyWithout(parts) {
  const copy = mkdtempSync(join(tmpdir(), "openenv-without-"));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true, maxRetries: 3 }));
  for (const file of listFiles()) {
    if (!parts.some((part) => file.startsWith(`${part}/`))) cpSync(join(ROOT, file), join(copy, file));
  }
  linkPackages("node_modules", copy);
  symlinkSync(join(ROOT, PAGE), join(copy, PAGE));
  return copy;
}

function listFiles() {
  return execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" }).split("\0").filter(Boolean);
}

/** Links what is installed; our own packages are those of the copy. */
function linkPackages(folder, copy) {
  mkdirSync(join(copy, folder), { recursive: true });
  for (const name of readdirSync(join(ROOT, folder)).filter((entry) => !entry.startsWith("."))) {
    const path = join(folder, name);
    if (name.startsWith("@")) linkPackages(path, copy);
    else if (lstatSync(join(ROOT, path)).isSymbolicLink())
      symlinkSync(readlinkSync(join(ROOT, path)), join(copy, path));
    else symlinkSync(join(ROOT, path), join(copy, path));
  }
}

function run(cwd, args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  return { status, output: stdout + stderr };
}
