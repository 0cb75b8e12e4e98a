import { withLimits } from "./limits.js";

/** Something that accepts one call at a time. */
export interface TurnHolder {
  /** Resolves when the last call has ended. */
  turn?: Promise<void> | undefined;
}

/**
 * Runs `work` after the earlier calls of these holders. If the signal is aborted first, `work` runs at once and must
 * check the signal before it does anything.
 */
export async function takeTurn<T>(
  holders: readonly TurnHolder[],
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const before = new Set<Promise<void>>();
  for (const { turn } of holders) if (turn) before.add(turn);
  const doInTurn = async (): Promise<T> => {
    // Await even without a wait, so that an abort in the same tick takes effect first.
    await (before.size > 0 ? settled(before, signal) : undefined);
    return work();
  };
  const result = doInTurn();
  const turn = Promise.allSettled([result, ...before]).then(() => {
    for (const holder of holders) if (holder.turn === turn) holder.turn = undefined;
  });
  for (const holder of holders) holder.turn = turn;
  return result;
}

async function settled(turns: Iterable<Promise<void>>, signal: AbortSignal | undefined): Promise<void> {
  // Node warns about more than ten listeners on one signal.
  const own = signal && AbortSignal.any([signal]);
  await withLimits(Promise.all(turns), { signal: own }, () => {}).catch(() => {});
}
