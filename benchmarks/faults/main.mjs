/**
 * `npm run bench -- faults`: faults between clients and server, processes and journals that are killed, the time to continue
 * after a cut, and a steady load over a long time, all on real processes. Options: see harness/suite.mjs; --faults 12000 (the Python
 * clients have half of them, those with a journal a quarter), --seed 1, --kills 1000, --soak-minutes 15.
 */

import { findPython } from "../harness/servers.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as address from "./address.mjs";
import * as faults from "./faults.mjs";
import * as kills from "./kills.mjs";
import * as recovery from "./recovery.mjs";
import * as redis from "./redis.mjs";
import * as restart from "./restart.mjs";
import * as restored from "./restored.mjs";
import * as soak from "./soak.mjs";
import * as total from "./total.mjs";

await runSuite({
  title: "Effects of failures",
  name: "faults",
  parts: { faults, address, restored, redis, recovery, restart, kills, total, soak },
  options: {
    faults: { type: "string" },
    seed: { type: "string" },
    kills: { type: "string" },
    "soak-minutes": { type: "string" },
  },
  createBench: ({ quick, faults, seed, kills, "soak-minutes": minutes }) => ({
    subjects: ["measured"],
    quick,
    python: findPython(),
    /** One sentence for each part that was not possible. */
    missing: [],
    faults: wholeNumber("--faults", faults ?? (quick ? "500" : "12000")),
    seed: wholeNumber("--seed", seed ?? "1"),
    kills: wholeNumber("--kills", kills ?? (quick ? "30" : "1000")),
    minutes: wholeNumber("--soak-minutes", minutes ?? (quick ? "1" : "15")),
    close() {},
  }),
  notes: ({ seed, missing }) => [
    "TypeScript clients: `openenv serve --workers 2`, 64 clients of `connect` (half of them with MessagePack), 8 sockets " +
      "with 12 sessions each and 16 sessions with own sockets, all with `resume`, through a proxy that disturbs each " +
      `connection again and again (seed ${seed}). Each environment writes its calls to a file; afterwards every session is ` +
      "played once more without faults and without `resume`, and each answer is compared.",
    "Python clients by address: 96 released clients (generic, typed, synchronous), each with its own `/session/<name>`, " +
      "through the same proxy. After a call that raised, half of them repeat it with its `openenv.request_id`, the others " +
      "ask for `step_count` first. Only an answer that was lost with its call is not compared. Repeated frames are left out: " +
      "a connection of the plain protocol has no numbers, and TCP repeats no bytes.",
    "Journal in a file: every 3 s a worker or the whole server is killed. A call that runs when its process is killed may be " +
      "executed again, and its answer must be the same. If it runs at a second kill, it is refused (STEP_CRASHED), and the client " +
      "makes it again. Here no connection of a Python client arrives twice: the server " +
      "takes the second one for the client when the first is lost with its process.",
    "Journal in Redis: it writes each command to its file before it answers. Every 3 s it is killed, stopped or suspended. " +
      "No server ends, so each call must be executed exactly once.",
    "Time to continue: from the call after the cut to its answer, 256 sessions through the proxy, one of them cut every 10 ms.",
    "Restart: `openenv serve --workers 2 --journal` with 2,000 sessions; all processes get SIGKILL, a server is started at the " +
      "same port, and every session makes its next step.",
    "Kills: `openenv serve --workers 3`, 32 sockets that play whole sessions all the time; each kill is SIGKILL to a " +
      "worker that has just responded. Every response is checked; a lost session must belong to a killed worker.",
    "Soak: `openenv serve --workers 2`, sessions that step with pauses and others that come and go; memory is the resident " +
      "set of supervisor and workers, sampled every two seconds, the minimum of each minute, without forced garbage collection.",
    ...missing,
  ],
});

function wholeNumber(name, text) {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  process.stderr.write(`${name} must be a positive integer\n`);
  process.exit(2);
}
