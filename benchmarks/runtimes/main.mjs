/**
 * `OPENENV_BUN=bun OPENENV_DENO=deno npm run bench -- runtimes`: what a step, a session and a started server cost on Node,
 * Bun and Deno, compared with a minimal server of the same runtime and with Python; and a cold burst on Node.
 * `OPENENV_NODE24=node` and `OPENENV_NODE26=node` add large observations on these. Options: see harness/suite.mjs.
 */
import { Bench } from "../harness/bench.mjs";
import { runSuite } from "../harness/suite.mjs";
import { explain } from "./breakdown.mjs";
import * as bystanders from "./bystanders.mjs";
import * as cold from "./cold.mjs";
import * as held from "./held.mjs";
import * as large from "./large.mjs";
import * as pieces from "./pieces.mjs";
import * as sessions from "./sessions.mjs";
import * as start from "./start.mjs";
import * as steps from "./steps.mjs";

class RuntimesBench extends Bench {
  runtimes = ["node", ...["bun", "deno"].filter((name) => process.env[`OPENENV_${name.toUpperCase()}`])];
  /** Notes for the report. */
  remarks = [];
}

await runSuite({
  title: "Node, Bun and Deno",
  name: "runtimes",
  variables: "OPENENV_BUN=bun OPENENV_DENO=deno",
  parts: { steps, sessions, start, large, pieces, cold, bystanders, held },
  createBench: (options) => new RuntimesBench(options),
  details: explain,
  notes: (bench) => [
    "The subjects of a row in turn, each round; values are medians (in parentheses the smallest and the largest round), ratios medians of the rounds' ratios.",
    "Control: `node:http` and `ws`, `Bun.serve`, and `Deno.serve` with `Deno.upgradeWebSocket`; JSON in and out, the same frames and answers, no sessions, no validation. Node's also loads zod, as a server that declares a schema must.",
    "Python: the reference under uvicorn, with plain methods; `python async` is its best case. In the other rows Python is left out: ONE-SERVER.md has it.",
    "CPU-seconds are those of the server, user and system, all threads.",
    "Cold burst: `openenv bench --cold`, a new server and new processes of the load for each burst, in turn. Client and server share the two cores.",
    "A bystander is one of four that step while other clients attack the server; ONE-SERVER.md has Node. Bun and Deno close many of the attackers, which Node stops reading instead.",
    ...bench.remarks,
  ],
});
