/**
 * `npm run bench -- providers`: the cost of starting an environment as a process or a container, and leftovers after a
 * hundred starts. Options: see harness/suite.mjs.
 */
import { Bench } from "../harness/bench.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as container from "./container.mjs";
import * as left from "./left.mjs";
import * as process from "./process.mjs";

class ProviderBench extends Bench {
  subjects = ["ours", "bare"];
  python = undefined;
}

await runSuite({
  title: "Overhead of a provider",
  name: "providers",
  parts: { process, container, left },
  createBench: (options) => new ProviderBench(options),
  notes: () => [
    "One run, the subjects in turn, each round; values are medians (in parentheses the smallest and the largest round), ratios medians of the rounds' ratios. Ready means that " +
      "a reset over the WebSocket was answered.",
    "The environment is `envs/echo`, compiled. Bare is `node server/app.js`, and `docker run` with its port published on " +
      "127.0.0.1 and looked up with `docker port`.",
    "Containers and networks are all that the engine lists before and after; processes are those that this " +
      "process and its children have started.",
  ],
});
