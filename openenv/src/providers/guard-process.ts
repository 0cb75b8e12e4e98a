/** Waits until its owner is gone, which ends the input, and removes what that has left behind. */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { DONE, type GuardTask } from "./guard.js";
import type { Sweeper } from "./leftover.js";

const [, , ownerId] = process.argv;
const tasks: GuardTask[] = [];
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
for await (const line of createInterface({ input: process.stdin })) {
  if (line === DONE) process.exit(0);
  tasks.push(JSON.parse(line) as GuardTask);
}
// Again: what was asked for in the last moment may appear later.
for (const pauseMs of [0, 1_000, 4_000]) {
  await sleep(pauseMs);
  await Promise.allSettled(tasks.map(sweep));
}

async function sweep({ module, make, options }: GuardTask): Promise<void> {
  const exported = (await import(module)) as Record<string, (options: unknown) => Sweeper>;
  const found = (await exported[make]?.(options)?.list()) ?? [];
  const own = found.filter(({ owner }) => owner.id === ownerId);
  await Promise.allSettled(own.map((leftover) => leftover.remove()));
}
