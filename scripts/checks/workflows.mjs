/** Validates the workflows of .github against the schema of GitHub Actions. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../root.mjs";

const FOLDER = join(ROOT, ".github/workflows");
const VALIDATOR = join(ROOT, "node_modules/@action-validator/cli/cli.mjs");

for (const name of readdirSync(FOLDER)) {
  const file = join(FOLDER, name);
  const { status, stdout, stderr } = spawnSync(process.execPath, [VALIDATOR, file], { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) report(`.github/workflows/${name}\n${stdout}${stderr}`);
  for (const [, use] of readFileSync(file, "utf8").matchAll(/uses: (\S+)/g)) {
    if (!/@v\d+$/.test(use)) report(`.github/workflows/${name}: ${use} must name a major version, such as @v4`);
  }
}

function report(problem) {
  process.stdout.write(`${problem}\n`);
  process.exitCode = 1;
}
