/** Aborted by the first Ctrl-C or SIGTERM, so that what is under way can be undone; a second one ends the process. */
export function abortOnSignals(): AbortSignal {
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => interrupt.abort(new Error(`interrupted by ${signal}`)));
  }
  return interrupt.signal;
}
