import { spawnSync } from "node:child_process";
import { CLI } from "../harness/clusters.mjs";

const COMMANDS = {
  ours: [process.execPath, CLI, "--help"],
  control: [process.execPath, "-e", "0"],
  python: [process.env.OPENENV_PYTHON, "-m", "openenv.cli", "--help"],
};

export const title = "openenv --help";

export async function run(bench) {
  const samples = await bench.interleave(
    bench.quick ? { ours: 5, control: 5 } : { ours: 12, control: 12, python: 2 },
    async (subject) => time(...COMMANDS[subject]),
  );
  const targets = [{ limit: "at most", value: 2, of: "control" }];
  return [{ id: "help", measure: "`openenv --help`; the control is `node -e 0`", unit: "ms", samples, targets }];
}

function time(command, ...args) {
  const started = performance.now();
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")} failed: ${stderr}`);
  return performance.now() - started;
}
