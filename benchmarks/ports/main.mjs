/**
 * `npm run bench -- ports`: the capacity of a container's port, by the way it is reached. Starts Docker engines in
 * separate network namespaces; needs root. Options: see harness/suite.mjs.
 */
import { descriptorLimit } from "openenv-ts/internal";
import { runSuite } from "../harness/suite.mjs";
import * as bursts from "./bursts.mjs";

await runSuite({
  title: "Capacity of a container's port",
  name: "ports",
  parts: { bursts },
  createBench: ({ quick }) => ({ subjects: ["measured"], quick, close() {} }),
  notes: () => [
    "Three bursts of each size, each on a fresh container with one worker: every session connects, resets and steps for " +
      "10 s, so that all are open at the same time. Values are medians, in parentheses the smallest and the largest if they " +
      "differ. Clients are on the same machine.",
    `Unless another number is given, the engine and its processes may open ${descriptorLimit()} file descriptors.`,
    "`docker-proxy` is the process that the engine starts for a published port. It has the engine's file descriptor limit, and " +
      "six file descriptors for each session: two sockets and two pipes. When it cannot accept a connection, it exits " +
      "(`Stopping proxy` in its source) with all connections, and is not restarted before the container is. The " +
      "server in the container continues.",
    "Only clients that use 127.0.0.1 pass through it; for all other addresses the kernel's rules replace the destination.",
  ],
});
