/** What has to be undone, in reverse order. */
export interface CleanupStack {
  /** Remembers one; once `run` was called it is run at once. */
  add(release: () => Promise<void> | void): void;
  /** Runs each that was not run yet, also after one has failed, and returns the failures. */
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
      // A start that was given up may still be on its way: nobody would run this one later.
      if (ended) void run();
    },
  };
}
