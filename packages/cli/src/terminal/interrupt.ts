/** Aborted by the first Ctrl-C or SIGTERM, so that the command can clean up. A second signal ends the process. */
export function abortOnSignals(): AbortSignal {
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => interrupt.abort(new Error(`interrupted by ${signal}`)));
  }
  return interrupt.signal;
}
