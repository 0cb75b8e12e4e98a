/** Waits until its owner is gone, which ends the input, and removes what that has left behind. */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { createFromDescriptor } from "../lifecycle/create-from-descriptor.js";
import type { ProviderDescriptor } from "../provider.js";
import type { OrphanFinder } from "./orphan.js";
import { DONE } from "./reaper.js";

const [, , ownerId] = process.argv;
const tasks: ProviderDescriptor[] = [];
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
for await (const line of createInterface({ input: process.stdin })) {
  if (line === DONE) process.exit(0);
  tasks.push(JSON.parse(line) as ProviderDescriptor);
}
// Again: what was asked for in the last moment may appear later.
for (const pauseMs of [0, 1_000, 4_000]) {
  await sleep(pauseMs);
  await Promise.allSettled(tasks.map(removeOrphans));
}

async function removeOrphans(descriptor: ProviderDescriptor): Promise<void> {
  const found = await ((await createFromDescriptor(descriptor)) as OrphanFinder).list();
  const own = found.filter(({ owner }) => owner.id === ownerId);
  await Promise.allSettled(own.map((orphan) => orphan.remove()));
}
