/**
 * `npm run bench -- upstreams`: what a front costs, compared with the same environment without one, and what its clients see while
 * upstreams are killed. Options: see harness/suite.mjs; of the soak: --processes 20, --minutes 2, --kill-every 5 (seconds),
 * --command "python package_upstream.py" (the same environment in the Python package), --replay.
 */
import { fileURLToPath } from "node:url";
import { Bench } from "../harness/bench.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as paced from "./paced.mjs";
import * as rates from "./rates.mjs";
import * as soak from "./soak.mjs";

const TINY = fileURLToPath(new URL("../../test-support/upstreams/tiny_upstream.py", import.meta.url));

class FrontBench extends Bench {
  subjects = ["front", "plain"];

  constructor({ quick, processes, minutes, "kill-every": killEvery, command, replay }) {
    super({ quick });
    const numbers = {
      processes: positive("--processes", processes),
      minutes: positive("--minutes", minutes),
      killEvery: positive("--kill-every", killEvery),
    };
    this.soak = { ...numbers, command: command ?? `"${process.env.OPENENV_PYTHON}" "${TINY}"`, replay };
  }
}

await runSuite({
  title: "Cost of a front",
  name: "upstreams",
  parts: { paced, rates, soak },
  options: {
    processes: { type: "string", default: "20" },
    minutes: { type: "string", default: "2" },
    "kill-every": { type: "string", default: "5" },
    command: { type: "string" },
    replay: { type: "boolean" },
  },
  said: { command: "<command>" },
  createBench: (options) => new FrontBench(options),
  notes: ({ missing }) => [
    "One machine, the subjects in turn, each round; values are medians (in parentheses the smallest and the largest round), ratios medians of the rounds' ratios.",
    "`plain` is a server with the echo environment, `front` a front of that server with one upstream. 32 connections, each with " +
      "a separate session and without `resume`.",
    "CPU-seconds are those of the server that the clients are connected to, so those of the upstream are not in `front`.",
    "Soak: `openenv serve --upstream` with processes of an environment in Python, one session each. A SIGKILL ends one of them " +
      "every few seconds. Clients compare each answer with the numbers that the seed gives, the text of their step and its count. " +
      "Half of the clients use `resume` through a proxy that disturbs their connection again and again.",
    ...missing,
  ],
});

function positive(name, text) {
  if (Number(text) > 0) return Number(text);
  process.stderr.write(`${name} must be a positive number\n`);
  process.exit(2);
}
