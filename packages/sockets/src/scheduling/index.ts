/** Queues, turns of the event loop, and budgets. Nothing here needs a socket or a module of Node. */
export { afterReading } from "./after-reading.js";
export { ByteBudget } from "./byte-budget.js";
export { Fifo } from "./fifo.js";
export { nextTurn } from "./next-turn.js";
export { type Registered, Registry } from "./registry.js";
export { LARGE_MESSAGE, type Runnable, RunQueue } from "./run-queue.js";
