import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const here = fileURLToPath(new URL(".", import.meta.url));
const bin = fileURLToPath(new URL("../packages/cli/bin/openenv.js", import.meta.url));

// A story is a folder with a main.ts that exits with 0 when what it tells is true.
describe("every example verifies itself", { timeout: 120_000 }, () => {
  test.each(stories())("%s", async (story) => {
    // No story asks a model that somebody pays for.
    const env = { ...process.env, OPENAI_BASE_URL: "" };
    const { stdout } = await promisify(execFile)(process.execPath, [bin, "run", `${here}${story}/main.ts`], { env });
    expect(stdout.trim()).not.toBe("");
  });
});

function stories(): string[] {
  const folders = readdirSync(here, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => name).filter((name) => !name.startsWith(".") && name !== "node_modules");
}
