import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { EpisodeRow, RolloutDetail, RolloutPage } from "openenv-ts/protocol";
import { expect, test } from "vitest";
import { createProject, startCommand } from "../../test-support/commands/command-line.js";
import { requirePython } from "../../test-support/requirement.js";

const python = await requirePython();

test.skipIf(!python.available)(
  "the released Python client runs a task and gets its rewards from a rubric, and all of it is recorded",
  async () => {
    const file = fileURLToPath(new URL("./rewarded.ts", import.meta.url));
    await using folder = await createProject();
    const args = ["serve", file, "--port", "0", "--store", folder.dir];
    await using command = startCommand(args, { cwd: import.meta.dirname });
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
    const results = JSON.parse(stdout) as unknown[];
    expect(results).toEqual([
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
    const rows = async () => {
      const q = encodeURIComponent("split:train task:1 outcome:cut");
      return ((await (await fetch(`${url}/rollouts?q=${q}`)).json()) as RolloutPage<EpisodeRow>).rows;
    };
    await expect.poll(async () => (await rows()).length, { timeout: 20_000 }).toBe(1);
    const { events } = (await (await fetch(`${url}/rollouts/${(await rows())[0]?.id}`)).json()) as RolloutDetail;
    const recorded = events.map(({ answer, error }) => {
      if (answer === null) return expect.stringContaining(error?.message ?? "no message");
      return [{ ...answer.observation, metadata: answer.metadata ?? {} }, answer.reward, answer.done];
    });
    expect(results.slice(2)).toEqual(recorded);
  },
  240_000,
);
