import { ATTACKS, attackServers } from "../one-server/bystander.mjs";
import { NAMES } from "./names.mjs";

/** Deno keeps pipelined data without a limit: see SECURITY.md. */
const PIPELINED = ["pipelined", "bodies"];

export const title = "a bystander during attacks on Bun and Deno";

export async function run(bench) {
  const rows = [];
  for (const runtime of bench.runtimes.filter((name) => name !== "node")) {
    for (const attack of Object.keys(ATTACKS)) {
      if (runtime === "deno" && PIPELINED.includes(attack)) continue;
      const measured = await attackServers(bench, [attack], { rounds: 2, runtime });
      rows.push(...measured.map((row) => ({ ...row, measure: `${NAMES[runtime]}: ${row.measure}` })));
    }
  }
  return rows;
}
