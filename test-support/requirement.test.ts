import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test, vi } from "vitest";

// Each runs vitest in a separate process.
vi.setConfig({ testTimeout: 120_000 });

const ROOT = join(import.meta.dirname, "..");
const cache = join(ROOT, ".cache");
mkdirSync(cache, { recursive: true });
const project = mkdtempSync(join(cache, "requirement-"));
const requireNode24 = `import { requireNode24 } from "${join(import.meta.dirname, "requirement.js")}";`;
writeFileSync(
  join(project, "one.system.test.ts"),
  `import { test } from "vitest";
${requireNode24}
const node24 = await requireNode24();
test.skipIf(!node24.available)("needs it", () => {});
`,
);
writeFileSync(
  join(project, "late.system.test.ts"),
  `import { test } from "vitest";
${requireNode24}
test("asks while it runs", () => requireNode24());
`,
);
writeFileSync(
  join(project, "plain.test.ts"),
  `import { test } from "vitest";
${requireNode24}
const node24 = await requireNode24();
test.skipIf(!node24.available)("needs it", () => {});
`,
);
writeFileSync(
  join(project, "vitest.config.mjs"),
  `import config from ${JSON.stringify(join(ROOT, "vitest.config.ts"))};
export default { test: { reporters: config.test.reporters } };
`,
);
afterAll(() => rmSync(project, { recursive: true, force: true }));

test("a missing component skips its tests and gives the reason", async () => {
  const { code, output } = await run(["one"], { OPENENV_REQUIRE: "python" });
  expect(output).toContain("skipped  node24: OPENENV_NODE24=no-such-node is not Node 24");
  expect(output).toMatch(/Tests +2 skipped \(2\)/);
  // The summary of vitest is the last thing printed.
  expect(output.trimEnd().split("\n").at(-1)).toMatch(/^ *Duration/);
  expect(code).toBe(0);
});

test("a missing component that OPENENV_REQUIRE names fails", async () => {
  const { code, output } = await run(["one"], { OPENENV_REQUIRE: "python, node24" });
  expect(output).toContain("required component node24 is missing: OPENENV_NODE24=no-such-node is not Node 24");
  expect(code).toBe(1);
});

test.each(["missing", "present"])(
  "a running test, or one of npm test, may not require a component that is %s",
  async (state) => {
    const { code, output } = await run(["late", "plain"], { OPENENV_NODE24: await node24(state) });
    expect(output).toContain('"asks while it runs" requires the component node24 while it runs');
    expect(output).toMatch(
      /plain\.test\.ts requires the component node24: move these tests to a \*\.system\.test\.ts file/,
    );
    expect(output).toMatch(/Tests +1 failed \(1\)/);
    expect(code).toBe(1);
  },
);

/** A file that answers like it is enough to be one. */
async function node24(state: string): Promise<string> {
  if (state === "missing") return "no-such-node";
  const file = join(project, "node24");
  await writeFile(file, "#!/bin/sh\necho v24.0.0\n", { mode: 0o755 });
  return file;
}

async function run(files: string[], env: Record<string, string>): Promise<{ code: number; output: string }> {
  const args = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--root", project, ...files];
  const options = {
    cwd: project,
    env: { PATH: process.env["PATH"], CI: "true", NO_COLOR: "1", OPENENV_NODE24: "no-such-node", ...env },
  };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, options);
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: `${stdout}${stderr}` };
  }
}
