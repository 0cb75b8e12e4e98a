import { startSpared } from "../prewarm.js";
import type { Provider, Recipe, Started, StartSpec } from "../provider.js";
import { runRecipe } from "../run-recipe.js";

/** What `startSync` is told to start something with a provider; plain data. */
export interface StartTask {
  provider: Recipe;
  spec: StartSpec;
  prewarm: number;
}

const made = new Map<string, Promise<Provider>>();

/** Run in the other thread. The same recipe gives the same provider, which is what shares spares. @public */
export async function startTask({ provider, spec, prewarm }: StartTask): Promise<Started> {
  const key = JSON.stringify(provider);
  const making = made.get(key) ?? (runRecipe(provider) as Promise<Provider>);
  made.set(key, making);
  return startSpared(await making, spec, prewarm);
}

/** The recipe for it. */
export function renderStart(task: StartTask): Recipe {
  return { module: import.meta.url, make: "startTask", options: task };
}
