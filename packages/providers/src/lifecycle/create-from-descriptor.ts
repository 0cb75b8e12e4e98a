import type { ProviderDescriptor } from "../provider.js";

/** Makes what the descriptor says; its maker knows of which type that is. */
export async function createFromDescriptor({ module, factory, options }: ProviderDescriptor): Promise<unknown> {
  const exported = (await import(module)) as Record<string, (options: unknown) => unknown>;
  const call = exported[factory];
  if (!call) throw new TypeError(`${module} has no export "${factory}"`);
  return call(options);
}
