import { ConfigError } from "../../errors.js";
import { type HubStarted, type HubStartOptions, startFromHub } from "../from-hub.js";
import { startSpared } from "../prewarm.js";
import type { Provider, Recipe, Started, StartSpec } from "../provider.js";
import { runRecipe } from "../run-recipe.js";

/** What `startSync` is told to start something with a provider; plain data. */
export interface StartTask {
  provider: Recipe;
  spec: StartSpec;
  prewarm: number;
}

/** What `startSync` is told to start something of the Hub; plain data. */
export interface HubTask {
  repo: string;
  provider: Recipe | undefined;
  options: Omit<HubStartOptions, "provider">;
}

const made = new Map<string, Promise<Provider>>();

/** Run in the other thread. @public */
export async function startTask({ provider, spec, prewarm }: StartTask): Promise<Started> {
  return startSpared(await makeProvider(provider), spec, prewarm);
}

/** Run in the other thread. @public */
export async function startHubTask({ repo, provider, options }: HubTask): Promise<HubStarted> {
  const own = provider === undefined ? {} : { provider: await makeProvider(provider) };
  return startFromHub(repo, { ...options, ...own });
}

/** The recipe for it. */
export function renderStart(task: StartTask): Recipe {
  return { module: import.meta.url, make: "startTask", options: task };
}

/** The recipe for it. */
export function renderHubStart(task: HubTask): Recipe {
  return { module: import.meta.url, make: "startHubTask", options: task };
}

/** @throws ConfigError for a provider that another thread cannot make; `instead` says what can use it. */
export function recipeOf({ name, recipe }: Provider, instead: string): Recipe {
  if (recipe) return recipe;
  throw new ConfigError(
    `The ${name} provider has no \`recipe\`, so a blocking call cannot make it in its thread; use ${instead}.`,
  );
}

/** The same recipe gives the same provider, which is what shares spares. */
function makeProvider(recipe: Recipe): Promise<Provider> {
  const key = JSON.stringify(recipe);
  const making = made.get(key) ?? (runRecipe(recipe) as Promise<Provider>);
  made.set(key, making);
  return making;
}
