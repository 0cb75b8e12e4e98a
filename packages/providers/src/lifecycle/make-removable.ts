import type { StartContext } from "./start-context.js";

/**
 * Makes something that `remove`, with which nothing happens when there is nothing, takes away at the release. `make` gets
 * no signal: what is given up half-way might be made all the same, after its removal.
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
    // An answer may be so late that everything was released before this was made.
    if (start.signal.aborted) start.onCleanup(remove);
  }
  start.signal.throwIfAborted();
}
