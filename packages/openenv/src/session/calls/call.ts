import type { StepContext } from "../../environment/environment.js";
import type { JsonObject } from "../../protocol/messages.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";

/** How long a cancelled call may block the next call or the close of the environment. */
export const ABANDONED_GRACE_MS = 5_000;

const NO_METADATA: Readonly<JsonObject> = Object.freeze({});

export interface SessionCallOptions {
  timeoutMs?: number | undefined;
  requestId?: string | undefined;
  /** Arrival time of the message, from `performance.now()`; default now. */
  arrivedAt?: number;
  /** The peer has the orchestrator's token. */
  orchestrator?: boolean;
  /** Adds server timings as `metadata.openenv`. */
  timing?: boolean;
  /** Reports ignored reset options and non-finite values in `metadata.openenv.warnings`. */
  warnings?: boolean;
  /** Adds the results of the author's `render` and `actions` for the observation. */
  view?: boolean;
  /** Registers a function that cancels the call when the client disconnects; used only for asynchronous calls. */
  onDisconnect?: ((cancel: () => void) => void) | undefined;
}

export type CallKind = "reset" | "step" | "state" | "tool";

/** One call of an environment's method. The signal is created on first read, because most steps never need one. */
export class Call implements StepContext {
  readonly options: SessionCallOptions;
  readonly timeoutMs: number | undefined;
  readonly requestId: string | undefined;
  readonly arrivedAt: number;
  /** When the call started, by the same clock. */
  startedAt = 0;
  /** The kind of call; a step that calls a tool has the kind `tool`. */
  kind: CallKind;
  metadata: Readonly<JsonObject> = NO_METADATA;
  /** Why the call was cancelled. */
  aborted: Error | undefined;
  /** Called on abort, without the cost of a signal. */
  onAbort: ((reason: Error) => void) | undefined;
  /** Warnings for the answer, if the peer requested them. */
  warnings: string[] | undefined;
  /** A tool is running, which applies the time limit itself with a more precise message. */
  limitedByTool = false;
  /** A handler that still runs after its call was answered. The next call waits for it for a limited time. */
  abandoned: PromiseLike<unknown> | undefined;
  #controller: AbortController | undefined;

  constructor(options: SessionCallOptions, kind: CallKind) {
    this.options = options;
    this.kind = kind;
    this.timeoutMs = options.timeoutMs;
    this.requestId = options.requestId;
    this.arrivedAt = options.arrivedAt ?? performance.now();
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted !== undefined) this.#controller.abort(this.aborted);
    }
    return this.#controller.signal;
  }

  /** A part of this call, aborted together with it. The call can outlive the part. */
  child(): Call {
    const part = new Call(this.options, this.kind);
    part.metadata = this.metadata;
    this.onAbort = (reason) => part.abort(reason);
    if (this.aborted !== undefined) part.abort(this.aborted);
    return part;
  }

  /**
   * Resolves with the answer, or with the result of `late` when the caller's time limit passes; the call may still run.
   */
  inTime<T>(answer: Promise<T>, late: (message: string) => T): Promise<T> {
    const { timeoutMs } = this;
    if (timeoutMs === undefined || timeoutMs > MAX_TIMER_MS) return answer;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        if (this.limitedByTool) return;
        const message = `the environment did not answer within ${timeoutMs / 1000} s`;
        this.abort(new Error(message));
        resolve(late(message));
      }, timeoutMs);
      void answer.then((value) => {
        clearTimeout(timer);
        resolve(value);
      });
    });
  }

  abort(reason: Error): void {
    if (this.aborted !== undefined) return;
    this.aborted = reason;
    this.onAbort?.(reason);
    this.#controller?.abort(reason);
  }
}
