/**
 * `npm run bench:workers`: what two workers hold and how fast they are, beside a bare control whose workers accept from
 * one shared handle and beside the Python reference under uvicorn, in one interleaved run. Options: see suite.mjs.
 */

import * as burst from "./cases/workers/burst.mjs";
import * as isolation from "./cases/workers/isolation.mjs";
import * as isolationCost from "./cases/workers/isolation-cost.mjs";
import * as large from "./cases/workers/large-burst.mjs";
import * as memory from "./cases/workers/memory.mjs";
import * as queue from "./cases/workers/queue.mjs";
import * as rates from "./cases/workers/rates.mjs";
import { ClusterBench } from "./cluster-bench.mjs";
import { runSuite } from "./suite.mjs";

await runSuite({
  title: "What two workers give",
  command: "npm run bench:workers",
  report: "WORKERS.md",
  csv: "workers.csv",
  experiments: { burst, queue, large, rates, memory, isolation, "isolation-cost": isolationCost },
  createBench: (options) => new ClusterBench(options),
  notes: (bench) => [
    "One run, the subjects in turn, each round, two workers each; values are medians (in brackets the smallest and the " +
      "largest round), ratios medians of the rounds' ratios. The client is on the same machine and takes its part of the two cores.",
    "Control: `node:http` and `ws` in two processes that accept from one shared handle; JSON in and out, the same answers, no sessions, no " +
      "validation, no capacity. Python: the reference under uvicorn with two workers and plain methods, as it asks for them; " +
      "`python async` is its best case, an environment with asynchronous ones.",
    "A burst is measured by `openenv bench`: each request from the start of the burst, so the time that the client takes " +
      "to start all is in it. Every round has a server of its own, which plays the burst twice: its first is reported " +
      "apart, the other rows but `served` (both) are of the second. A share is what the busiest worker served, of an even " +
      "share. Python is left out of the burst of 16,384, where a round takes minutes: results/scaling has it. " +
      "The limits of p99 were set when each request was counted from its own start and not from that of the burst.",
    "CPU-seconds are those of all processes of the server, the supervisor too, as the operating system counts them.",
    "Isolation: eight sessions that step fifty times a second, each in an isolate of its own; `looping` is while one more " +
      "session is in an endless loop, for as many cores as there are but one. Start and memory are of sessions that find " +
      "nothing ready (`ISOLATE_SPARES=0`), each page of memory divided among the processes that share it.",
    "Six times `python async` in steps is more than the bare control reaches: sockets and JSON alone take longer than that.",
    ...bench.remarks,
    ...(bench.quick ? ["A quick run: few rounds."] : []),
  ],
});
