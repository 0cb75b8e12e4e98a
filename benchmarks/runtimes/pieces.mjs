import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { NAMES } from "./names.mjs";

const SCRIPT = join(import.meta.dirname, "step-pieces.mjs");
const COMMANDS = {
  node: () => [process.execPath, SCRIPT],
  bun: () => [process.env.OPENENV_BUN, SCRIPT],
  deno: () => [process.env.OPENENV_DENO, "run", "-A", SCRIPT],
};

/** The parts of a step that run without a socket, in this order. */
export const PARTS = {
  json: "JSON",
  validation: "validation of action and observation",
  step: "the environment",
  session: "session: queue, time limit, statistics",
  protocol: "protocol: checks and dispatch of frames",
};

export const title = "the parts of a step, without a socket";

export async function run(bench) {
  const rows = [];
  for (const runtime of bench.runtimes) {
    const rounds = Array.from({ length: bench.quick ? 1 : 3 }, () => measure(runtime));
    for (const [part, name] of Object.entries(PARTS)) {
      const samples = { ours: rounds.map((round) => round[part]) };
      const measure = `${NAMES[runtime]}: ${name}`;
      rows.push({ id: `part-${part}-${runtime}`, measure, unit: "µs of a step", samples, targets: [] });
    }
  }
  return rows;
}

function measure(runtime) {
  const [file, ...args] = COMMANDS[runtime]();
  return JSON.parse(execFileSync(file, args, { encoding: "utf8" }));
}
