/** Starts what it is told and waits to be ended, as a program would be in the middle of its work. */

import { runRecipe } from "../providers/lifecycle/run-recipe.js";
import type { Provider } from "../providers/provider.js";
import type { CallerAnswer, CallerTask } from "./provider-caller.js";

process.once("message", async ({ recipe, spec }: CallerTask) => {
  process.send?.(await start({ recipe, spec }));
});

// Nothing that was started keeps its caller alive.
setInterval(() => {}, 60_000);

async function start({ recipe, spec }: CallerTask): Promise<CallerAnswer> {
  try {
    const { url } = await ((await runRecipe(recipe)) as Provider).start(spec);
    return { url };
  } catch (error) {
    return { error: String(error) };
  }
}
