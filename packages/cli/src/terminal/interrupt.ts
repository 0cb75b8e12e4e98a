export interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Aborted by the first Ctrl-C or SIGTERM, so that the command can clean up. A second signal ends the process. Disposed, it
 * leaves signals alone.
 */
export function abortOnSignals(): Interrupt {
  const interrupt = new AbortController();
  const abort = (signal: NodeJS.Signals): void => interrupt.abort(new Error(`interrupted by ${signal}`));
  process.once("SIGINT", abort).once("SIGTERM", abort);
  return {
    signal: interrupt.signal,
    [Symbol.dispose]: () => void process.off("SIGINT", abort).off("SIGTERM", abort),
  };
}
