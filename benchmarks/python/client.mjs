import { join } from "node:path";
import { runChild } from "../harness/children.mjs";

const SCRIPT = join(import.meta.dirname, "client_rates.py");
const SOURCE = join(import.meta.dirname, "../../python/src");
const CASES = [
  { id: "many", environment: "echo", unit: "steps/s", measure: "one process, 512 sessions", target: 4 },
  { id: "one_blocking", environment: "echo", unit: "steps/s", measure: "one session, blocking calls", target: 1.5 },
  { id: "one_asyncio", environment: "echo", unit: "steps/s", measure: "one session, asyncio", target: 0.95 },
  { id: "gymnasium", environment: "track", unit: "steps/s", measure: "`step` of a Gymnasium vector of 64", target: 3 },
];

export const title = "the Python package and the released client";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [3, 0.2] : [25, 0.6];
  const rows = [];
  for (const { id, environment, unit, measure, target } of CASES) {
    const samples = await bench.withServer("ours", environment, async ({ url }) => {
      const env = { PYTHONPATH: SOURCE, PYTHONDONTWRITEBYTECODE: "1" };
      const args = [SCRIPT, id, url, String(rounds), String(seconds)];
      const output = await runChild([process.env.OPENENV_PYTHON, ...args], { env });
      return JSON.parse(output.trim().split("\n").at(-1));
    });
    rows.push({ id, measure, unit, samples, targets: [{ limit: "at least", value: target, of: "released" }] });
  }
  return rows;
}
