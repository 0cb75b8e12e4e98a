/**
 * `npm run bench:providers`: what it costs to have an environment started as a process or a container, and what is left
 * after a hundred starts. Options: see suite.mjs.
 */
import { Bench } from "./bench.mjs";
import * as container from "./cases/providers/container.mjs";
import * as left from "./cases/providers/left.mjs";
import * as process from "./cases/providers/process.mjs";
import { runSuite } from "./suite.mjs";

class ProviderBench extends Bench {
  subjects = ["ours", "bare"];
  python = undefined;
}

await runSuite({
  title: "What a provider adds to a start",
  command: "npm run bench:providers",
  report: "PROVIDERS.md",
  csv: "providers.csv",
  experiments: { process, container, left },
  createBench: (options) => new ProviderBench(options),
  notes: () => [
    "One run, the subjects in turn, each round; values are medians (in brackets the smallest and the largest round), ratios medians of the rounds' ratios. Ready means that " +
      "a reset over the WebSocket was answered.",
    "The environment is `envs/echo`, compiled. Bare is `node server/app.js`, and `docker run` with its port published on " +
      "127.0.0.1 and asked for with `docker port`.",
    "Containers and networks are counted by the engine, all of them before and after; processes are those that this " +
      "process has started, and what these have started.",
  ],
});
