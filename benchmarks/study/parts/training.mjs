import { three } from "../text.mjs";
import { runBenchmark } from "./other-benchmark.mjs";

export const title = "Does training see the same environment?";
export const minutes = 20;
export const picture = { title: "Mean reward of an episode while GRPO trains", unit: "reward" };

export function describeRun({ quick }) {
  return { seed: quick ? "1" : "1 to 3" };
}

export function findMissing() {
  return process.env.OPENENV_TRAINING_PYTHON ? undefined : "OPENENV_TRAINING_PYTHON is not a Python with TRL";
}

export function run({ quick }) {
  return runBenchmark("training", { only: "curves", quick });
}

export function say(value, { rows }) {
  return rows
    .filter(({ id }) => id.endsWith("-different"))
    .map(({ id }) => {
      const task = id.replace("-different", "");
      const share = (subject) => three(value(`${task}-share`, subject));
      return (
        `${task}: ${value(id)} episodes of a seed have other rewards on our server than on the Python server. The environment ` +
        `takes ${share("ours")} % of the training on ours, ${share("python")} % on the Python server.`
      );
    });
}
