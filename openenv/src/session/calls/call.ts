import type { StepContext } from "../../environment/environment.js";
import type { JsonObject } from "../../protocol/messages.js";

const NO_METADATA: Readonly<JsonObject> = Object.freeze({});

export interface CallOptions {
  timeoutMs?: number | undefined;
  requestId?: string | undefined;
}

/** One call of an environment's method. The signal is made when it is first read: most steps never need one. */
export class Call implements StepContext {
  readonly timeoutMs: number | undefined;
  readonly requestId: string | undefined;
  metadata: Readonly<JsonObject> = NO_METADATA;
  /** For what must end with the call and should not cost it a signal. */
  onAbort: ((reason: Error) => void) | undefined;
  #controller: AbortController | undefined;
  #aborted: Error | undefined;

  constructor(options: CallOptions) {
    this.timeoutMs = options.timeoutMs;
    this.requestId = options.requestId;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  /** A part of this call: it is aborted with the whole, which can outlive it. */
  part(): Call {
    const part = new Call(this);
    part.metadata = this.metadata;
    this.onAbort = (reason) => part.abort(reason);
    if (this.#aborted !== undefined) part.abort(this.#aborted);
    return part;
  }

  get aborted(): Error | undefined {
    return this.#aborted;
  }

  abort(reason: Error): void {
    if (this.#aborted !== undefined) return;
    this.#aborted = reason;
    this.onAbort?.(reason);
    this.#controller?.abort(reason);
  }
}
