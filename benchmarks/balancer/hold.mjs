import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createLoad, measureCpu, residentBytes } from "@openenv-ts/bench";
import { workload } from "./workload.mjs";

const SETTLE_MS = 1_000;

/**
 * Opens sessions that stay open. `use` is the resource use of the balancer then, and the CPU time for opening them.
 * `step` steps all of them and returns the balancer's cost of a step.
 */
export async function hold({ url, pid }, sessions) {
  const { result: load, cpuSeconds } = await measureCpu(pid, () =>
    createLoad({ url, connections: sessions, workload }),
  );
  await sleep(SETTLE_MS);
  const descriptors = readdirSync(`/proc/${pid}/fd`).length;
  const use = { cpuSeconds, descriptors, bytes: residentBytes(pid) };
  const step = async (seconds) => {
    const stepping = await measureCpu(pid, () => load.step(seconds));
    return stepping.cpuSeconds / stepping.result.done;
  };
  return { use, step, close: () => load.close() };
}
