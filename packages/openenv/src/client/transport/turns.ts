import { ConnectionError } from "../../errors.js";
import { withLimits } from "./limits.js";

/** What takes one call at a time. */
export interface TurnHolder {
  /** Resolves when the last call that was given has ended. */
  turn?: Promise<void> | undefined;
}

/**
 * Does `work` after the calls that these holders were given before. When the signal is aborted earlier, `work` is done at
 * once and must check the signal before it does anything.
 */
export async function takeTurn<T>(
  holders: readonly TurnHolder[],
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const before = new Set<Promise<void>>();
  for (const { turn } of holders) if (turn) before.add(turn);
  const doInTurn = async (): Promise<T> => {
    // Also without a wait, so that an abort in the same tick comes first.
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
  // Node warns of more than ten listeners on one signal.
  const own = signal && AbortSignal.any([signal]);
  await withLimits(Promise.all(turns), { signal: own }, () => {}).catch(() => {});
}

/** For a call that was aborted before anything was sent. */
export function abortedBeforeSent(signal: AbortSignal | undefined): ConnectionError {
  return new ConnectionError("ABORTED", "The call was aborted before it was sent. The session is not affected.", {
    cause: signal?.reason,
  });
}
