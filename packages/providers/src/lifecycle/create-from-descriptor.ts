import type { ProviderDescriptor } from "../provider.js";

/** Calls the factory of a descriptor; the caller knows the type of the result. */
export async function createFromDescriptor({ module, factory, options }: ProviderDescriptor): Promise<unknown> {
  const exported = (await import(module)) as Record<string, (options: unknown) => unknown>;
  const call = exported[factory];
  if (!call) throw new TypeError(`${module} has no export "${factory}"`);
  return call(options);
}
