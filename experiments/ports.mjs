/**
 * `npm run bench:ports`: what the port of a container holds, by the way it is reached. Starts Docker engines, in network
 * namespaces of their own; needs root. Options: see suite.mjs.
 */
import { descriptorLimit } from "@openenv-ts/bench";
import * as bursts from "./cases/ports/bursts.mjs";
import { runSuite } from "./suite.mjs";

await runSuite({
  title: "What the port of a container holds",
  command: "npm run bench:ports",
  report: "PORTS.md",
  csv: "ports.csv",
  experiments: { bursts },
  createBench: ({ quick }) => ({ subjects: ["measured"], quick, close() {} }),
  notes: () => [
    "Three bursts of each size, each on a fresh container with one worker: every session connects, resets and steps for " +
      "10 s, so that all are open at the same time. Values are medians, in brackets the smallest and the largest where they " +
      "differ. Callers are on the same machine.",
    `Where no other number stands, the engine and what it starts may open ${descriptorLimit()} descriptors.`,
    "`docker-proxy` is the process that the engine starts for a published port. It has the engine's descriptor limit, and " +
      "six descriptors for each session: two sockets and two pipes. When it cannot accept a connection, it ends " +
      "(`Stopping proxy` in its source), all connections with it, and nothing starts it again before the container. The " +
      "server in the container goes on.",
    "Only callers that use 127.0.0.1 pass through it; for all other addresses the kernel's rules replace the destination.",
  ],
});
