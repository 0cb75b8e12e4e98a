/** The functions that cancel the calls of one request: the one that is being answered. */
export class Cancels {
  #seq: number | undefined;
  #isRunning = false;
  #isCancelled = false;
  /** The number of a request that was cancelled before it began. */
  #next: { seq: number | undefined } | undefined;
  #calls: (() => void)[] = [];

  /** `seq`: the number of a request of a resumable session. */
  begin(seq?: number): void {
    this.#seq = seq;
    this.#isRunning = true;
    this.#isCancelled = this.#next !== undefined && this.#next.seq === seq;
    this.#next = undefined;
    this.#calls = [];
  }

  /** The request is answered. */
  end(): void {
    this.#isRunning = false;
    this.#calls = [];
  }

  /** Adds a call of the request. */
  readonly add = (cancel: () => void): void => {
    if (this.#isCancelled) cancel();
    else this.#calls.push(cancel);
  };

  /** Cancels the request; if none is being answered, the one that waits, if `isWaiting`. */
  cancel(seq: number | undefined, isWaiting = false): void {
    if (this.#isRunning && this.#seq === seq) {
      this.#isCancelled = true;
      for (const cancel of this.#calls.splice(0)) cancel();
    } else if (isWaiting) this.#next = { seq };
  }
}
