/**
 * `npm run bench:tools`: what a call of a tool costs: on `/ws` beside a plain step, and on `POST /mcp` beside the Python
 * reference. Options: see suite.mjs.
 */
import { Bench } from "./bench.mjs";
import * as streamable from "./cases/streamable.mjs";
import * as tools from "./cases/tools.mjs";
import { runSuite } from "./suite.mjs";

class ToolBench extends Bench {
  subjects = ["ours", "plain", ...(this.python.missing ? [] : ["python"])];
}

await runSuite({
  title: "What calls of tools cost",
  command: "npm run bench:tools",
  report: "TOOLS.md",
  csv: "tools.csv",
  experiments: { tools, streamable },
  createBench: (options) => new ToolBench(options),
  notes: () => [
    "One run, the subjects in turn, each round; values are medians (in brackets the smallest and the largest round), ratios medians of the rounds' ratios. 32 connections, " +
      "each with a session of its own; the tool echoes a text.",
    "On `/ws`, ours is a `call_tool` step, plain a step that echoes the same text.",
    "On `POST /mcp`, ours is real MCP over Streamable HTTP with answers as server-sent events, plain our JSON-RPC of the " +
      "reference's kind, python the reference's own, which knows no other.",
    "CPU-seconds are the server's, user and system, all threads.",
  ],
});
