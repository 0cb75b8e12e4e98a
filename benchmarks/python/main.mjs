/**
 * `npm run bench -- python`: the Python package of this repository and the released Python client, on our server.
 * OPENENV_PYTHON also needs gymnasium. Options: see harness/suite.mjs.
 */
import { Bench } from "../harness/bench.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as client from "./client.mjs";
import * as install from "./install.mjs";

class PythonBench extends Bench {
  subjects = ["ours", "released"];
}

await runSuite({
  title: "The Python package and the released client",
  name: "python",
  parts: { client, install },
  createBench: (options) => {
    const bench = new PythonBench(options);
    if (!bench.python.missing) return bench;
    throw new Error(`${bench.python.missing}; set OPENENV_PYTHON to one that also has gymnasium.`);
  },
  notes: () => [
    "One run for each row, in one Python process with a server of ours, the subjects in turn every 0.6 s; values are medians (in parentheses the smallest and the largest round), ratios medians of the rounds' ratios.",
    "The released client is in its best case: uvloop, `GenericEnvClient`, and with 512 sessions each steps as fast as it can, without waiting for the others. Ours waits for all sessions before it steps again.",
    "With one session over asyncio both use uvloop. Resuming sessions is on, as by default.",
    "The wrapper around the released client has no checks: it steps 64 sessions with `asyncio.gather` and makes arrays of two numbers, the rewards and the ends.",
    "Packages and size are those that `pip install` adds to an empty virtual environment, without compiled files.",
  ],
});
