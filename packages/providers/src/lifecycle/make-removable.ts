import type { StartContext } from "./start-context.js";

/**
 * Creates a resource and registers `remove`, which does nothing when the resource does not exist. `make` gets no
 * signal: a cancelled request might still create the resource after its removal.
 */
export async function makeRemovable(
  start: StartContext,
  make: () => Promise<unknown>,
  remove: () => Promise<void>,
): Promise<void> {
  start.signal.throwIfAborted();
  start.onCleanup(remove);
  try {
    await make();
  } finally {
    // The response may come so late that the cleanup has already run.
    if (start.signal.aborted) start.onCleanup(remove);
  }
  start.signal.throwIfAborted();
}
