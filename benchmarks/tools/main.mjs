/**
 * `npm run bench -- tools`: the cost of a tool call on `/ws`, compared with a plain step, and of calls over HTTP, compared
 * with a bare `node:http` handler and the Python reference. Options: see harness/suite.mjs.
 */
import { Bench } from "../harness/bench.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as http from "./http.mjs";
import * as streamable from "./streamable.mjs";
import * as tools from "./tools.mjs";

class ToolBench extends Bench {
  subjects = ["ours", "plain", "control", ...(this.python.missing ? [] : ["python"])];
}

await runSuite({
  title: "Cost of tool calls and of calls over HTTP",
  name: "tools",
  parts: { tools, http, streamable },
  createBench: (options) => new ToolBench(options),
  notes: () => [
    "One run, the subjects in turn, each round; values are medians (in parentheses the smallest and the largest round), ratios medians of the rounds' ratios. 32 connections, " +
      "each with a separate session; the tool echoes a string.",
    "On `/ws`, ours is a `call_tool` step, plain a step that echoes the same text.",
    "Over HTTP, control is a bare `node:http` handler that reads the same requests and writes the same JSON, without sessions or checks; python is the reference.",
    "In the row of MCP over HTTP, ours is MCP over Streamable HTTP, in a session, and plain is our JSON-RPC in the format of the reference.",
    "CPU-seconds are those of the server, user and system, all threads.",
  ],
});
