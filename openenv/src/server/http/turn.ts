import type { ServerResponse } from "node:http";
import { LARGE_MESSAGE, type Runnable, type RunQueue } from "../limits/run-queue.js";

/** What it looks at of an exchange. */
interface Waiting {
  response: ServerResponse;
  context: { runQueue: RunQueue };
}

/** It rejects and does not throw: nobody above a turn would catch that. */
type Work = () => Promise<void>;

/**
 * Does the work of a request whose body has been read: at once when that is small and its client waits for each answer,
 * which costs no look at the clock; else when it is its turn.
 */
export function inTurn(exchange: Waiting & { bodyBytes: number; isPipelined: boolean }, work: Work): Promise<void> {
  return exchange.bodyBytes < LARGE_MESSAGE && !exchange.isPipelined ? work() : takeTurn(exchange, work);
}

/** Begins at once when time is left in this turn of the event loop, else when the run queue comes to it. */
export function takeTurn({ response, context: { runQueue } }: Waiting, work: Work): Promise<void> {
  if (!runQueue.isSpent()) return work();
  return new Promise((resolve) => {
    // Nobody waits for the answer once the connection has closed.
    runQueue.add(new RequestTurn(() => resolve(response.closed ? undefined : work())));
  });
}

/** A connection has one at most: the requests after it wait for its answer. */
class RequestTurn implements Runnable {
  scheduled = false;
  readonly endsTurn = true;
  readonly #begin: () => void;

  constructor(begin: () => void) {
    this.#begin = begin;
  }

  runSlice(): boolean {
    this.#begin();
    return false;
  }
}
