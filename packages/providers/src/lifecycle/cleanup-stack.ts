/** Cleanup functions, run in reverse order. */
export interface CleanupStack {
  /** Adds one; after `run` was called, it is run immediately. */
  add(release: () => Promise<void> | void): void;
  /** Runs all that have not run, also after one has failed, and returns the failures. */
  run(): Promise<Error[]>;
}

export function createCleanupStack(): CleanupStack {
  const waiting: (() => Promise<void> | void)[] = [];
  let ended = false;
  const run = async (): Promise<Error[]> => {
    ended = true;
    const failures: Error[] = [];
    for (let release = waiting.pop(); release; release = waiting.pop()) {
      try {
        await release();
      } catch (error) {
        failures.push(error instanceof Error ? error : new Error(String(error)));
      }
    }
    return failures;
  };
  return {
    run,
    add: (release) => {
      waiting.push(release);
      // An abandoned start may still register cleanups, and `run` is not called again.
      if (ended) void run();
    },
  };
}
