/**
 * `npm run bench -- one-server`: the cost of one server, compared with a minimal control and the Python reference, in one
 * interleaved run. Options: see harness/suite.mjs; --quick takes less than a minute and skips most of Python.
 */
import { Bench } from "../harness/bench.mjs";
import { BEFORE } from "../harness/servers.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as bystander from "./bystander.mjs";
import * as help from "./help.mjs";
import * as large from "./large.mjs";
import * as memory from "./memory.mjs";
import * as page from "./page.mjs";
import * as sessions from "./sessions.mjs";
import * as start from "./start.mjs";
import * as steps from "./steps.mjs";

await runSuite({
  title: "Cost of one server",
  name: "one-server",
  parts: { steps, sessions, memory, start, help, large, bystander, page },
  createBench: (options) => new Bench(options),
  notes,
});

function notes(bench, rows) {
  const percent = (values) => `${Math.round((100 * values.reduce((sum, value) => sum + value, 0)) / values.length)} %`;
  const busy = Object.entries(bench.busy).map(
    ([subject, seen]) => `${subject} ${percent(seen.map((s) => s.server))} (load ${percent(seen.map((s) => s.load))})`,
  );
  return [
    "One run, the subjects in turn, each round; values are medians (in parentheses the smallest and the largest round), ratios are medians of the ratios within a round.",
    (BEFORE
      ? "Control: the server of an earlier commit, built in another folder. "
      : "Control: `node:http` and `ws` with JSON in and out, the same frames and answers, no session, no validation. ") +
      "Python: the reference under uvicorn, without logs, its environment with plain methods, like the reference's own " +
      "echo; `python async` is its best case, an environment that overrides the asynchronous methods.",
    "CPU-seconds are those of the server, user and system, all threads, as counted by the operating system.",
    "Memory of a session: growth of the resident set from 2,000 to 10,000 idle sessions, after a garbage " +
      "collection at both; kernel memory of sockets is not included.",
    "A bystander takes one step after the other on each of 4 connections; the attack comes from a separate process, so " +
      "that server, attacker and bystander share the machine's cores. A round has all attacks in turn on one server, each " +
      "for 0.75 s; the p99 of a few slow steps is their maximum. A bystander whose session is lost fails the run.",
    "The load runs in a separate process and never sleeps while a rate is measured: on one machine the server would pay " +
      "for waking it.",
    `The machine is shared: compare ratios, not runs. ${spread(rows)}`,
    ...(busy.length > 0 ? [`Share of one core in use while rates were measured: ${busy.join(", ")}.`] : []),
    ...bench.missing,
    ...(bench.quick ? ["A quick run: few rounds, and Python only at its best, in steps, sessions and memory."] : []),
  ];
}

/** The ratios to the control within the rounds, which show how reliable a median is. */
function spread(rows) {
  const compared = rows.filter(({ samples }) => samples.control);
  const ranges = compared.map(({ id, samples: { ours, control } }) => {
    const ratios = ours.map((value, round) => value / control[round]);
    return `${id} ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  });
  return ranges.length > 0 ? `ours : control, minimum and maximum of the rounds: ${ranges.join(", ")}.` : "";
}
