/** Training scripts of the README and of the guide, for a few steps each, and the tests with torch; see code.test.ts. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { requireTraining } from "../test-support/requirement.js";
import { ROOT, runBlocks, writeProjects } from "./code-blocks.js";

const python = await requireTraining();
const PROJECTS = join(ROOT, ".cache/docs-training");
const RUN_EACH = `
import os, runpy, sys, torch
torch.set_num_threads(1)
sys.path.insert(0, ${JSON.stringify(join(ROOT, "python/tests"))})
os.chdir(${JSON.stringify(PROJECTS)})
from training.tiny_model import save_model
save_model("tiny-model")
for file in sys.argv[1:]:
    print(file, flush=True)
    runpy.run_path(file, run_name="__main__")
`;

describe.skipIf(!python.available)("training", () => {
  test("the training scripts of the pages run", { timeout: 400_000 }, async () => {
    writeProjects(PROJECTS);
    const files = readdirSync(PROJECTS, { recursive: true, encoding: "utf8" });
    const scripts = files.filter((file) => file.endsWith(".py")).map((file) => join(PROJECTS, file));
    for (const script of scripts) writeFileSync(script, makeSmall(readFileSync(script, "utf8")));
    const timeout = 380_000;
    await runBlocks(PROJECTS, { language: "python", run: "training" }, [python.path, "-c", RUN_EACH], timeout);
  });

  // Next to other work on two cores it took 27 minutes.
  test("TRL and Stable-Baselines3 train on real servers, and AReaL plays on one, with faults", {
    timeout: 2_700_000,
  }, async () => {
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1" };
    // An interrupted pytest stops its servers.
    const options = { cwd: join(ROOT, "python"), env, timeout: 2_640_000, killSignal: "SIGINT" as const };
    const files = [
      "tests/test_trl.py",
      "tests/test_trl_worlds.py",
      "tests/test_trl_pages.py",
      "tests/test_trl_openreward.py",
      "tests/test_stable_baselines3.py",
      "tests/test_areal.py",
    ];
    const args = ["-m", "pytest", "-q", "-p", "no:cacheprovider", ...files];
    expect((await promisify(execFile)(python.path, args, options)).stdout).toMatch(/\d+ passed/);
  });
});

/** For a CPU without downloads: the model of the tests, and few steps. */
function makeSmall(code: string): string {
  return code
    .replace(/"Qwen\/[^"]+"/, '"tiny-model"')
    .replace("GRPOConfig(", "GRPOConfig(use_cpu=True, ")
    .replace(/max_steps=\d+/, "max_steps=3")
    .replace(/max_completion_length=\d+/, "max_completion_length=64");
}
