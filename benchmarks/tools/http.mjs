import { measureCalls } from "./streamable.mjs";

const ROWS = [
  { id: "step", measure: "`POST /step`", environment: "echo", kind: "step" },
  { id: "rpc", measure: "tools/call on `POST /mcp`, plain JSON-RPC", environment: "tools", kind: "rpc" },
];

export const title = "calls over HTTP";

/** Next to a bare `node:http` handler. The reference has no sessions for HTTP steps. */
export async function run(bench) {
  const rounds = bench.quick ? 2 : 6;
  const rows = [];
  for (const { id, measure, environment, kind } of ROWS) {
    const asked = { ours: rounds, control: rounds, ...(kind === "rpc" && { python: Math.ceil(rounds / 2) }) };
    const samples = await bench.interleave(asked, (subject) =>
      measureCalls(bench, { subject, server: subject, environment, kind }),
    );
    const targets = [{ limit: "at least", value: 0.85, of: "control" }];
    rows.push({ id, measure, unit: "per server CPU-second", samples, targets });
  }
  return rows;
}
