/**
 * `npm run bench:tools`: the cost of a tool call: on `/ws` compared with a plain step, and on `POST /mcp` with the
 * Python reference. Options: see suite.mjs.
 */
import { Bench } from "./bench.mjs";
import * as streamable from "./cases/streamable.mjs";
import * as tools from "./cases/tools.mjs";
import { runSuite } from "./suite.mjs";

class ToolBench extends Bench {
  subjects = ["ours", "plain", ...(this.python.missing ? [] : ["python"])];
}

await runSuite({
  title: "Cost of tool calls",
  command: "npm run bench:tools",
  report: "TOOLS.md",
  csv: "tools.csv",
  experiments: { tools, streamable },
  createBench: (options) => new ToolBench(options),
  notes: () => [
    "One run, the subjects in turn, each round; values are medians (in parentheses the smallest and the largest round), ratios medians of the rounds' ratios. 32 connections, " +
      "each with a separate session; the tool echoes a string.",
    "On `/ws`, ours is a `call_tool` step, plain a step that echoes the same text.",
    "On `POST /mcp`, ours is MCP over Streamable HTTP with responses as server-sent events, plain is our JSON-RPC in the " +
      "format of the reference, and python is the reference, which supports nothing else.",
    "CPU-seconds are those of the server, user and system, all threads.",
  ],
});
