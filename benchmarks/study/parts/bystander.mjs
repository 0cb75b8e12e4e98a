import { three, whole } from "../text.mjs";
import { runBenchmark } from "./other-benchmark.mjs";

export const title = "What can one client do to the others?";
export const minutes = 2;
export const picture = { title: "p99 of a step while another client attacks", unit: "ms" };

/** The rows that have a target; those next to an undisturbed server are in ONE-SERVER.md. */
export async function run({ quick }) {
  const rows = await runBenchmark("one-server", { only: "bystander", quick });
  return rows.filter(({ targets }) => targets.length > 0);
}

export function say(value, { rows }) {
  const judged = rows.map(({ id, targets, measure }) => ({ measure, most: value(id), limit: targets[0].value }));
  const over = judged.filter(({ most, limit }) => most > limit);
  const worst = judged.toSorted((a, b) => b.most - a.most)[0];
  return [
    `Of ${whole(judged.length)} attacks, ${whole(judged.length - over.length)} leave the p99 of a bystander within the target of ${worst.limit} ms.`,
    `The worst is ${three(worst.most)} ms: ${worst.measure.replace(/^a bystander's p99: /, "")}.`,
  ];
}
