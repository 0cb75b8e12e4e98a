import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createLoad, measureCpu, residentBytes } from "openenv-ts/bench";
import { workload } from "./workload.mjs";

const SETTLE_MS = 1_000;

/** Opens sessions that stay open; `use` is what the balancer has then, and the processor time that opening them took. */
export async function hold({ url, pid }, sessions) {
  const { result: load, cpuSeconds } = await measureCpu(pid, () =>
    createLoad({ url, connections: sessions, workload }),
  );
  await sleep(SETTLE_MS);
  const descriptors = readdirSync(`/proc/${pid}/fd`).length;
  const use = { cpuSeconds, descriptors, bytes: residentBytes(pid) };
  return { use, close: () => load.close() };
}
