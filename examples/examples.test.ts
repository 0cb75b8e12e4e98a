import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const here = fileURLToPath(new URL(".", import.meta.url));
const bin = fileURLToPath(new URL("../packages/cli/bin/openenv.js", import.meta.url));

// An example is a folder with a main.ts that exits with 0 when its assertions hold.
describe("every example verifies itself", { timeout: 120_000 }, () => {
  test.each(stories())("%s", async (story) => {
    // No example calls a paid model.
    const env = { ...process.env, OPENAI_BASE_URL: "" };
    const { stdout } = await promisify(execFile)(process.execPath, [bin, "run", `${here}${story}/main.ts`], { env });
    expect(stdout.trim()).not.toBe("");
  });
});

function stories(): string[] {
  const folders = readdirSync(here, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => name).filter((name) => existsSync(`${here}${name}/main.ts`));
}
