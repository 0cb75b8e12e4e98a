/**
 * `npm run bench -- workers`: the capacity and speed of two workers, compared with a minimal control whose workers accept
 * from one shared handle and with the Python reference under uvicorn, in one interleaved run. Options: see harness/suite.mjs.
 */

import { ClusterBench } from "../harness/cluster-bench.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as burst from "./burst.mjs";
import * as isolation from "./isolation.mjs";
import * as isolationCost from "./isolation-cost.mjs";
import * as large from "./large-burst.mjs";
import * as memory from "./memory.mjs";
import * as queue from "./queue.mjs";
import * as rates from "./rates.mjs";

await runSuite({
  title: "Performance of two workers",
  name: "workers",
  parts: { burst, queue, large, rates, memory, isolation, "isolation-cost": isolationCost },
  createBench: (options) => new ClusterBench(options),
  notes: (bench) => [
    "One run, the subjects in turn, each round, two workers each; values are medians (in parentheses the smallest and the " +
      "largest round), ratios medians of the rounds' ratios. The client runs on the same two cores.",
    "Control: `node:http` and `ws` in two processes that accept from one shared handle; JSON in and out, the same answers, no sessions, no " +
      "validation, no capacity. Python: the reference under uvicorn with two workers and plain methods, like its own echo; " +
      "`python async` is its best case, an environment with asynchronous ones.",
    "A burst is measured by `openenv bench`: each request from the start of the burst, which includes the time that the client takes " +
      "to start all. Every round has a new server, which plays the burst twice: the first one is reported " +
      "separately; the other rows except `served` (both) are of the second. A share is what the busiest worker served, relative to an even " +
      "share. Python is not in the burst of 16,384, where a round takes minutes; the benchmark study has it. " +
      "The limits of p99 were set when each request was counted from its own start and not from that of the burst.",
    "CPU-seconds are those of all processes of the server, including the supervisor, as counted by the operating system.",
    "Isolation: eight sessions that step fifty times a second, each in a separate isolate; `looping` is while one more " +
      "session per core except one is in an endless loop. Start and memory are those of sessions without a " +
      "spare isolate (`ISOLATE_SPARES=0`); memory is the proportional set size.",
    "Six times the steps of `python async` is more than the control reaches: sockets and JSON alone take longer.",
    ...bench.remarks,
    ...(bench.quick ? ["A quick run: few rounds."] : []),
  ],
});
