import { LARGE_MESSAGE, type RunQueue } from "#parts/sockets/scheduling";

/** The part of a request that {@link takeTurn} reads. */
interface Waiting {
  response: { readonly closed: boolean };
  context: { runQueue: RunQueue };
}

/** Must reject instead of throwing: no caller of a turn would catch an exception. */
type Work = () => Promise<void>;

/**
 * Does the work of a request whose body has been read. A small body of a client that waits for each answer is handled at
 * once, without reading the clock; others wait for their turn.
 */
export function inTurn(ctx: Waiting & { bodyBytes: number; isPipelined: boolean }, work: Work): Promise<void> {
  return ctx.bodyBytes < LARGE_MESSAGE && !ctx.isPipelined ? work() : takeTurn(ctx, work);
}

/** Begins at once if this turn of the event loop has time left, else when the run queue reaches it. */
export function takeTurn({ response, context: { runQueue } }: Waiting, work: Work): Promise<void> {
  if (!runQueue.isSpent()) return work();
  // An answer to a closed connection is not needed.
  return runQueue.turn().then(() => (response.closed ? undefined : work()));
}
