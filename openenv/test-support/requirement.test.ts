import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test, vi } from "vitest";

// Each runs vitest in a process of its own.
vi.setConfig({ testTimeout: 120_000 });

const ROOT = join(import.meta.dirname, "../..");
const cache = join(ROOT, ".cache");
mkdirSync(cache, { recursive: true });
const project = mkdtempSync(join(cache, "requirement-"));
writeFileSync(
  join(project, "one.test.ts"),
  `import { test } from "vitest";
import { requireNode24 } from "${join(import.meta.dirname, "requirement.js")}";
const node24 = await requireNode24();
test.skipIf(!node24.available)("needs it", () => {});
`,
);
writeFileSync(
  join(project, "two.test.ts"),
  `import { expect, test } from "vitest";
let runs = 0;
test("passes the second time", () => {
  runs++;
  if (process.env.EXPECTS) expect(runs).toBe(2);
  else if (runs === 1) throw new Error("other side closed");
});
`,
);
writeFileSync(
  join(project, "vitest.config.mjs"),
  `import config from ${JSON.stringify(join(ROOT, "vitest.config.ts"))};
const { retry, reporters } = config.test;
export default { test: { retry, reporters } };
`,
);
afterAll(() => rmSync(project, { recursive: true, force: true }));

test("a missing component skips its tests and says why", async () => {
  const { code, output } = await run({ OPENENV_REQUIRE: "python" });
  expect(output).toContain("skipped  node24: OPENENV_NODE24=no-such-node is not Node 24");
  expect(output).toMatch(/Tests +1 passed \| 2 skipped \(3\)/);
  expect(code).toBe(0);
});

test("a missing component that OPENENV_REQUIRE names fails", async () => {
  const { code, output } = await run({ OPENENV_REQUIRE: "python, node24" });
  expect(output).toContain("required component node24 is missing: OPENENV_NODE24=no-such-node is not Node 24");
  expect(code).toBe(1);
});

test("a test that passed only when it ran once more is named", async () => {
  const { code, output } = await run({});
  expect(output).toContain("unsteady  passes the second time");
  expect(output).toContain("in two.test.ts: other side closed");
  expect(code).toBe(0);
});

test("an expectation that does not hold fails at once", async () => {
  const { code, output } = await run({ EXPECTS: "1" });
  expect(output).toContain("expected 1 to be 2");
  expect(output).not.toContain("unsteady");
  expect(code).toBe(1);
});

test("vitest's own summary is the last thing printed", async () => {
  const { output } = await run({});
  expect(output.trimEnd().split("\n").at(-1)).toMatch(/^ *Duration/);
});

async function run(env: Record<string, string>): Promise<{ code: number; output: string }> {
  const args = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--root", project];
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
