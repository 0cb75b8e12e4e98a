/** Waits until its owner is gone, which ends the input, and removes what that has left behind. */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { runRecipe } from "../lifecycle/run-recipe.js";
import type { Recipe } from "../provider.js";
import { DONE } from "./guard.js";
import type { Sweeper } from "./leftover.js";

const [, , ownerId] = process.argv;
const tasks: Recipe[] = [];
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
for await (const line of createInterface({ input: process.stdin })) {
  if (line === DONE) process.exit(0);
  tasks.push(JSON.parse(line) as Recipe);
}
// Again: what was asked for in the last moment may appear later.
for (const pauseMs of [0, 1_000, 4_000]) {
  await sleep(pauseMs);
  await Promise.allSettled(tasks.map(sweep));
}

async function sweep(recipe: Recipe): Promise<void> {
  const found = await ((await runRecipe(recipe)) as Sweeper).list();
  const own = found.filter(({ owner }) => owner.id === ownerId);
  await Promise.allSettled(own.map((leftover) => leftover.remove()));
}
