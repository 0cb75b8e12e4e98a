/** Decides if the next episodes of the open sessions of a server should begin on other servers. */
export class Departure {
  /** True while an operator has paused the server. */
  paused = false;
  #isStopping = false;
  /** Called when it begins. */
  onBegin: (() => void) | undefined;

  get hasBegun(): boolean {
    return this.paused || this.#isStopping;
  }

  pause(paused: boolean): void {
    this.paused = paused;
    if (paused) this.onBegin?.();
  }

  /** The server stops when its sessions have left. */
  stop(): void {
    this.#isStopping = true;
    this.onBegin?.();
  }
}
