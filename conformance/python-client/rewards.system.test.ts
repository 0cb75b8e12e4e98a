import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startCommand } from "../../test-support/commands/command-line.js";
import { requirePython } from "../../test-support/requirement.js";

const python = await requirePython();

test.skipIf(!python.available)(
  "the released Python client runs a task and gets its rewards from a rubric",
  async () => {
    const file = fileURLToPath(new URL("./rewarded.ts", import.meta.url));
    await using command = startCommand(["serve", file, "--port", "0"], { cwd: import.meta.dirname });
    const [, url = ""] = await command.printed(/ at (http:\S+)/);
    const script = join(import.meta.dirname, "rewards.py");
    const { stdout } = await promisify(execFile)(python.path, [script, url]);
    const observed = (question: string, right: boolean, scores?: object) => ({
      question,
      right,
      metadata: scores ? { rubric_scores: scores } : {},
    });
    const scores = (gate: number, sum: number | null, right: number | null, share: number | null) => ({
      rubric_0: gate,
      "rubric_0.rubric": gate,
      rubric_1: sum,
      "rubric_1.right": right,
      "rubric_1.share": share,
    });
    expect(JSON.parse(stdout)).toEqual([
      expect.stringMatching(/no task 2 in split "train", which has tasks 0 to 1.*EXECUTION_ERROR/),
      expect.stringMatching(/unknown split "dev"; available splits: "train", "test".*EXECUTION_ERROR/),
      [observed("2 + 3", false), null, false],
      [observed("", true, scores(1, 0.5, 1, 0)), 0.5, false],
      [observed("", false, scores(0, null, null, null)), 0, false],
      expect.stringMatching(/the rubric rubric_0\.rubric failed.*EXECUTION_ERROR/),
      // The share counts all four steps, including the one after the closed gate and the failed one.
      [observed("", true, scores(1, 0.75, 1, 0.5)), 0.75, true],
      [observed("", false, scores(1, 0, 0, 0)), 0, false],
    ]);
  },
  240_000,
);
