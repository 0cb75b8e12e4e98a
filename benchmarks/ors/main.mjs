/**
 * `npm run bench -- ors`: the cost of a call over ORS, compared with the server side of `openreward`, which
 * `OPENENV_OPENREWARD_PYTHON` names. Options: see harness/suite.mjs.
 */
import { Bench } from "../harness/bench.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as ors from "./calls.mjs";

class OrsBench extends Bench {
  subjects = ["ours", ...(process.env.OPENENV_OPENREWARD_PYTHON ? ["openreward"] : [])];
  python = undefined;
}

await runSuite({
  title: "Cost of calls over ORS",
  name: "ors",
  variables: "OPENENV_OPENREWARD_PYTHON=python",
  parts: { ors },
  createBench: (options) => new OrsBench(options),
  notes: () => [
    "One run, the subjects in turn, each round; values are medians (in parentheses the smallest and the largest round), ratios medians of the rounds' ratios. 32 connections, each with a separate session; the tool echoes a string.",
    "`openreward` is the server of the package openreward 0.1.167 in a process of its own, with the same tool.",
    "CPU-seconds are those of the server, user and system, all threads.",
  ],
});
