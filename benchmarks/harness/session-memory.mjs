import { setTimeout as sleep } from "node:timers/promises";
import { residentBytes } from "@openenv-ts/bench";

/**
 * Kilobytes of an open session: the growth of the processes `pids()` from few to many sessions, after a garbage collection
 * at both, so that warm-up does not count. `open` resolves with a load of so many sessions. The server needs --expose-gc.
 */
export async function measureGrowth([few, many], { open, pids, settleMs }) {
  const loads = [];
  const hold = async (sessions) => {
    loads.push(await open(sessions));
    await sleep(settleMs);
    for (const pid of pids()) process.kill(pid, "SIGUSR2");
    await sleep(settleMs);
    return pids().reduce((sum, pid) => sum + residentBytes(pid), 0);
  };
  try {
    const before = await hold(few);
    return ((await hold(many - few)) - before) / (many - few) / 1000;
  } finally {
    await Promise.all(loads.map((load) => load.close()));
  }
}
