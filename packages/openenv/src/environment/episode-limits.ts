export interface EpisodeLimitOptions {
  /** Number of steps after which an episode is truncated; default no limit. */
  maxSteps?: number;
  /** Seconds after a reset; the next step then truncates the episode. Default no limit. */
  maxSeconds?: number;
}

interface Ending {
  done?: boolean;
  truncated?: boolean;
}

/** The limits of one session's episodes. */
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

  /** Counts a step, and sets `truncated` when a limit is reached before the environment ended the episode. */
  apply<R extends Ending>(result: R): R {
    this.#steps++;
    const isOver = this.#steps >= this.#maxSteps || performance.now() - this.#begun >= this.#maxMs;
    return isOver && result.done !== true ? { ...result, truncated: true } : result;
  }
}

/** @throws TypeError for an invalid limit. */
export function checkEpisodeLimits({ maxSteps, maxSeconds }: EpisodeLimitOptions): void {
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && maxSteps > 0)) {
    throw new TypeError(`maxSteps must be a positive integer, got ${maxSteps}.`);
  }
  if (maxSeconds !== undefined && !(Number.isFinite(maxSeconds) && maxSeconds > 0)) {
    throw new TypeError(`maxSeconds must be a positive number of seconds, got ${maxSeconds}.`);
  }
}
