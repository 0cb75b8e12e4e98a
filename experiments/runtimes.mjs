/**
 * `OPENENV_BUN=bun OPENENV_DENO=deno npm run bench:runtimes`: the cost of a step on Node, Bun and Deno, compared with a
 * minimal server of the same runtime, in one interleaved run. Options: see suite.mjs.
 */
import { Bench } from "./bench.mjs";
import * as runtimes from "./cases/runtimes.mjs";
import { runSuite } from "./suite.mjs";

class RuntimesBench extends Bench {
  subjects = ["ours", "control"];
  runtimes = ["node", ...["bun", "deno"].filter((name) => process.env[`OPENENV_${name.toUpperCase()}`])];
  python = undefined;
}

await runSuite({
  title: "Cost of a step on each runtime",
  command: "OPENENV_BUN=bun OPENENV_DENO=deno npm run bench:runtimes",
  report: "RUNTIMES.md",
  csv: "runtimes.csv",
  experiments: { runtimes },
  createBench: (options) => new RuntimesBench(options),
  notes: () => [
    "The subjects of a row in turn, each round; values are medians (in parentheses the smallest and the largest round), ratios medians of the rounds' ratios.",
    "Control: `node:http` and `ws`, `Bun.serve`, and `Deno.serve` with `Deno.upgradeWebSocket`; JSON in and out, the same frames and answers, no sessions, no validation.",
    "CPU-seconds are those of the server, user and system, all threads.",
  ],
});
