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

interface Clock {
  now(): number;
}

/** The limits of one session's episodes. */
export class EpisodeLimits {
  readonly #maxSteps: number;
  readonly #maxMs: number;
  #steps = 0;
  /** Milliseconds, from `now()` of the reset, or of the first step without one. */
  #begun: number | undefined;

  constructor({ maxSteps = Infinity, maxSeconds = Infinity }: EpisodeLimitOptions) {
    this.#maxSteps = maxSteps;
    this.#maxMs = maxSeconds * 1000;
  }

  /** The clock is that of the call, which a replay repeats. */
  begin(context: Clock): void {
    this.#steps = 0;
    if (this.#maxMs !== Infinity) this.#begun = context.now();
  }

  save(): { steps: number; begun: number | undefined } {
    return { steps: this.#steps, begun: this.#begun };
  }

  load({ steps, begun }: { steps: number; begun?: number | undefined }): void {
    this.#steps = steps;
    this.#begun = begun;
  }

  /** Counts a step, and sets `truncated` when a limit is reached before the environment ended the episode. */
  apply<R extends Ending>(result: R, context: Clock): R {
    this.#steps++;
    const isLate = this.#maxMs !== Infinity && this.#isPast(context.now());
    const isOver = isLate || this.#steps >= this.#maxSteps;
    return isOver && result.done !== true ? { ...result, truncated: true } : result;
  }

  #isPast(now: number): boolean {
    this.#begun ??= now;
    return now - this.#begun >= this.#maxMs;
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
