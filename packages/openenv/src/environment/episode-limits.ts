export interface EpisodeLimitOptions {
  /** Steps after which an episode that has not ended is truncated; default none. */
  maxSteps?: number;
  /** Seconds since its reset after which the next step of an episode truncates it; default none. */
  maxSeconds?: number;
}

interface Ending {
  done?: boolean;
  truncated?: boolean;
}

/** How long the episodes of one session may be. */
export class EpisodeLimits {
  readonly #maxSteps: number;
  readonly #maxMs: number;
  #steps = 0;
  #begun = performance.now();

  constructor({ maxSteps = Infinity, maxSeconds = Infinity }: EpisodeLimitOptions) {
    this.#maxSteps = maxSteps;
    this.#maxMs = maxSeconds * 1000;
  }

  begin(): void {
    this.#steps = 0;
    this.#begun = performance.now();
  }

  /** Counts a step; its result says `truncated` where a limit is reached and the environment has not ended the episode. */
  apply<R extends Ending>(result: R): R {
    this.#steps++;
    const isOver = this.#steps >= this.#maxSteps || performance.now() - this.#begun >= this.#maxMs;
    return isOver && result.done !== true ? { ...result, truncated: true } : result;
  }
}

/** @throws TypeError for a limit that is not one. */
export function checkEpisodeLimits({ maxSteps, maxSeconds }: EpisodeLimitOptions): void {
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && maxSteps > 0)) {
    throw new TypeError(`maxSteps must be a positive integer, and is ${maxSteps}.`);
  }
  if (maxSeconds !== undefined && !(Number.isFinite(maxSeconds) && maxSeconds > 0)) {
    throw new TypeError(`maxSeconds must be a positive number of seconds, and is ${maxSeconds}.`);
  }
}
