/**
 * `npm run bench`: what one server costs, beside a bare control and the Python reference, in one interleaved run.
 * Options: --quick (less than a minute, without most of Python), --only steps,start, --json <file>,
 * --write (REPORT.md and results/).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { renderCsv, renderReport } from "openenv-ts/bench";
import { Bench } from "./bench.mjs";
import * as help from "./experiments/help.mjs";
import * as large from "./experiments/large.mjs";
import * as memory from "./experiments/memory.mjs";
import * as sessions from "./experiments/sessions.mjs";
import * as start from "./experiments/start.mjs";
import * as steps from "./experiments/steps.mjs";

const EXPERIMENTS = { steps, sessions, memory, start, help, large };

const { only, options } = readArguments();
const bench = new Bench(options);
try {
  const rows = [];
  for (const [name, { title, run }] of Object.entries(EXPERIMENTS).filter(([name]) => only.includes(name))) {
    process.stderr.write(`${name}: ${title}\n`);
    rows.push(...(await run(bench)));
  }
  publish(rows);
} finally {
  await bench.close();
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string", default: Object.keys(EXPERIMENTS).join() },
        json: { type: "string" },
        write: { type: "boolean", default: false },
      },
    });
    const only = values.only.split(",");
    const unknown = only.find((name) => !(name in EXPERIMENTS));
    if (unknown !== undefined) throw new Error(`no experiment "${unknown}": ${Object.keys(EXPERIMENTS).join(", ")}`);
    if (values.write && (values.quick || only.length < Object.keys(EXPERIMENTS).length)) {
      throw new Error("--write takes the whole run: leave out --quick and --only");
    }
    return { only, options: values };
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

function publish(rows) {
  const report = {
    title: "What one server costs",
    facts: facts(),
    subjects: bench.subjects,
    rows,
    notes: notes(rows),
  };
  const text = renderReport(report);
  process.stdout.write(text);
  if (options.json) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  if (!options.write) return;
  mkdirSync(new URL("results/", import.meta.url), { recursive: true });
  writeFileSync(new URL("REPORT.md", import.meta.url), text);
  writeFileSync(new URL("results/foundation.csv", import.meta.url), renderCsv(rows));
}

function facts() {
  const { versions, missing } = bench.python;
  const python = versions && Object.entries(versions).map(([name, version]) => `${name} ${version ?? "not installed"}`);
  return {
    date: new Date().toISOString().slice(0, 10),
    command: `\`${versions ? "OPENENV_PYTHON=python " : ""}npm run bench -- ${process.argv.slice(2).join(" ")}\``,
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${process.platform} ${process.arch}, shared`,
    python: python?.join(", ") ?? `not measured: ${missing}`,
  };
}

function notes(rows) {
  const percent = (values) => `${Math.round((100 * values.reduce((sum, value) => sum + value, 0)) / values.length)} %`;
  const busy = Object.entries(bench.busy).map(
    ([subject, seen]) => `${subject} ${percent(seen.map((s) => s.server))} (load ${percent(seen.map((s) => s.load))})`,
  );
  return [
    "One run, the subjects in turn, each round; values are medians, ratios are medians of the ratios within a round.",
    "Control: `node:http` and `ws` with JSON in and out, the same frames and answers, no session, no validation. " +
      "Python: the reference under uvicorn, nothing logged, its environment with plain methods, as the reference asks for " +
      "them and its own echo has; `python async` is its best case, an environment that overrides the asynchronous ones.",
    "CPU-seconds are the server's, user and system, all threads, as the operating system counts them.",
    "Memory of a session: growth of the resident set from 2,000 to 10,000 idle sessions (Python: 250 to 1,000), after a " +
      "garbage collection at both; what the kernel holds for a socket is not in it.",
    "The load runs in a process of its own and never sleeps while a rate is measured: on one machine the server would pay " +
      "for waking it.",
    `The machine is shared: compare ratios, not runs. ours : control, least and most of the rounds: ${spread(rows)}.`,
    ...(busy.length > 0 ? [`Part of one core in use while rates were measured: ${busy.join(", ")}.`] : []),
    ...(options.quick ? ["A quick run: few rounds, of Python only steps and sessions."] : []),
  ];
}

/** The ratios to the control within the rounds, which tell how far a median can be trusted. */
function spread(rows) {
  const ranges = rows.map(({ id, samples: { ours, control } }) => {
    const ratios = ours.map((value, round) => value / control[round]);
    return `${id} ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  });
  return ranges.join(", ");
}
