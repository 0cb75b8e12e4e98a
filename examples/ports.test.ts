import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createProject, runCommand } from "../test-support/commands/command-line.js";

const FOLDER = join(import.meta.dirname, "ports");

function replay(recording: string, port: string) {
  return runCommand(["replay", recording, `${port}.ts`], { cwd: FOLDER });
}

// The recordings are of the environments in Python, served by the released package.
describe("a port answers like the environment in Python", { timeout: 60_000 }, () => {
  test.each([
    ["connect-four", "5 episodes, 81 events: all equal\n"],
    ["maze", "2 episodes, 89 events: all equal\n"],
  ])("%s", async (port, stdout) => {
    expect(await replay(`${port}.jsonl`, port)).toEqual({ code: 0, stdout, stderr: "" });
  });

  test("and a difference is found", async () => {
    const text = readFileSync(join(FOLDER, "maze.jsonl"), "utf8").replace('\\"reward\\":10', '\\"reward\\":9');
    await using project = await createProject({ "maze.jsonl": text });
    const { code, stdout } = await replay(join(project.dir, "maze.jsonl"), "maze");
    expect(stdout).toContain("event 45 (step): reward was 9, now 10");
    expect(code).toBe(1);
  });
});
