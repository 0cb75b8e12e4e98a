import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const SCRIPT = fileURLToPath(new URL("../controls/python_client.py", import.meta.url));
const SOURCE = fileURLToPath(new URL("../../python/src", import.meta.url));
const CASES = [
  { id: "many", environment: "echo", measure: "steps/s, one process, 512 sessions", target: 4 },
  { id: "sync", environment: "echo", measure: "steps/s, one session, blocking calls", target: 1.5 },
  { id: "async", environment: "echo", measure: "steps/s, one session, asyncio", target: 0.95 },
  { id: "gymnasium", environment: "track", measure: "steps/s, `step` of a Gymnasium vector of 64", target: 3 },
];

export const title = "the Python package and the released client";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [1, 1] : [7, 4];
  const rows = [];
  for (const { id, environment, measure, target } of CASES) {
    const samples = await bench.interleave({ ours: rounds, released: rounds }, (subject) =>
      bench.withServer("ours", environment, async ({ url }) => {
        const env = { ...process.env, PYTHONPATH: SOURCE, PYTHONDONTWRITEBYTECODE: "1" };
        const args = [SCRIPT, id, subject, url, String(seconds)];
        const { stdout } = await promisify(execFile)(process.env.OPENENV_PYTHON, args, { env });
        return Number(stdout.trim().split("\n").at(-1));
      }),
    );
    rows.push({ id, measure, unit: "", samples, targets: [{ limit: "at least", value: target, of: "released" }] });
  }
  return rows;
}
