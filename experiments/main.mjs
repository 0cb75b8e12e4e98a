/**
 * `npm run bench`: what one server costs, beside a bare control and the Python reference, in one interleaved run.
 * Options: see suite.mjs; --quick takes less than a minute and leaves out most of Python.
 */
import { Bench } from "./bench.mjs";
import * as bystander from "./cases/bystander.mjs";
import * as help from "./cases/help.mjs";
import * as large from "./cases/large.mjs";
import * as memory from "./cases/memory.mjs";
import * as page from "./cases/page.mjs";
import * as sessions from "./cases/sessions.mjs";
import * as start from "./cases/start.mjs";
import * as steps from "./cases/steps.mjs";
import { BEFORE } from "./servers.mjs";
import { runSuite } from "./suite.mjs";

await runSuite({
  title: "What one server costs",
  command: "npm run bench",
  report: "REPORT.md",
  csv: "foundation.csv",
  experiments: { steps, sessions, memory, start, help, large, bystander, page },
  createBench: (options) => new Bench(options),
  notes,
});

function notes(bench, rows) {
  const percent = (values) => `${Math.round((100 * values.reduce((sum, value) => sum + value, 0)) / values.length)} %`;
  const busy = Object.entries(bench.busy).map(
    ([subject, seen]) => `${subject} ${percent(seen.map((s) => s.server))} (load ${percent(seen.map((s) => s.load))})`,
  );
  return [
    "One run, the subjects in turn, each round; values are medians (in brackets the smallest and the largest round), ratios are medians of the ratios within a round.",
    (BEFORE
      ? "Control: the server of an earlier commit, built in another folder. "
      : "Control: `node:http` and `ws` with JSON in and out, the same frames and answers, no session, no validation. ") +
      "Python: the reference under uvicorn, nothing logged, its environment with plain methods, as the reference asks for " +
      "them and its own echo has; `python async` is its best case, an environment that overrides the asynchronous ones.",
    "CPU-seconds are the server's, user and system, all threads, as the operating system counts them.",
    "Memory of a session: growth of the resident set from 2,000 to 10,000 idle sessions (Python: 250 to 1,000), after a " +
      "garbage collection at both; what the kernel holds for a socket is not in it.",
    "A bystander takes one step after the other on each of 4 connections; the attack comes from a process of its own, so " +
      "that server, attacker and bystander share the machine's cores. A bystander whose session is lost fails the run.",
    "The load runs in a process of its own and never sleeps while a rate is measured: on one machine the server would pay " +
      "for waking it.",
    `The machine is shared: compare ratios, not runs. ${spread(rows)}`,
    ...(busy.length > 0 ? [`Part of one core in use while rates were measured: ${busy.join(", ")}.`] : []),
    ...bench.missing,
    ...(bench.quick ? ["A quick run: few rounds, of Python only steps and sessions."] : []),
  ];
}

/** The ratios to the control within the rounds, which tell how far a median can be trusted. */
function spread(rows) {
  const compared = rows.filter(({ samples }) => samples.control);
  const ranges = compared.map(({ id, samples: { ours, control } }) => {
    const ratios = ours.map((value, round) => value / control[round]);
    return `${id} ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  });
  return ranges.length > 0 ? `ours : control, least and most of the rounds: ${ranges.join(", ")}.` : "";
}
