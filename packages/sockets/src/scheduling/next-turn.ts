/** A 0 ms timer fires after 1 or 2 ms. A later one was due before the event loop read its sockets. Milliseconds. */
const ON_TIME_MS = 3;

/** Calls `work` when the event loop has handled its other events. */
export const nextTurn: (work: () => void) => void =
  "Deno" in globalThis ? afterSockets : (work) => void setImmediate(work);

/** Deno reads no sockets between two immediates, nor between its other work and a timer that is due by then. */
function afterSockets(work: () => void): void {
  const start = performance.now();
  setTimeout(() => {
    if (performance.now() - start < ON_TIME_MS) work();
    else setTimeout(work, 0);
  }, 0);
}
