import type { EnvironmentDefinition } from "../environment/environment.js";

/**
 * Opens the resources that the sessions of an environment share, and keeps them open until the result is disposed of. Without
 * it, they close whenever no session uses them, and the next one opens them again.
 * @throws EnvironmentError naming the resource that cannot be opened.
 * @example await using resources = await openResources(environment);
 */
export async function openResources({ resources }: Pick<EnvironmentDefinition, "resources">): Promise<AsyncDisposable> {
  return (await resources?.hold({ spares: false })) ?? { [Symbol.asyncDispose]: async () => {} };
}
