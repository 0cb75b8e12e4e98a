import type { Recipe } from "../provider.js";

/** Makes what the recipe says; its maker knows of which type that is. */
export async function runRecipe({ module, make, options }: Recipe): Promise<unknown> {
  const exported = (await import(module)) as Record<string, (options: unknown) => unknown>;
  const call = exported[make];
  if (!call) throw new TypeError(`${module} has no export "${make}"`);
  return call(options);
}
