import type { StepContext } from "../../environment/environment.js";
import type { JsonObject } from "../../protocol/messages.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";

/** How long a cancelled call may still run before the next call, or the close of the environment, begins all the same. */
export const ABANDONED_GRACE_MS = 5_000;

const NO_METADATA: Readonly<JsonObject> = Object.freeze({});

export interface SessionCallOptions {
  timeoutMs?: number | undefined;
  requestId?: string | undefined;
  /** When the message arrived, by the clock of `performance.now()`; default now. */
  arrivedAt?: number;
  /** The peer carries the orchestrator's token. */
  orchestrator?: boolean;
  /** Adds `metadata.openenv` with where the time went. */
  timing?: boolean;
  /** Names dropped reset options and values that are not finite, in `metadata.openenv.warnings`. */
  warnings?: boolean;
  /** Adds the author's `render` and `actions` of the observation. */
  view?: boolean;
  /** Registers how the call is cancelled when its client leaves; called only for a call that takes its time. */
  onDisconnect?: ((cancel: () => void) => void) | undefined;
}

export type CallKind = "reset" | "step" | "state" | "tool";

/** One call of an environment's method. The signal is created when it is first read: most steps never need one. */
export class Call implements StepContext {
  readonly options: SessionCallOptions;
  readonly timeoutMs: number | undefined;
  readonly requestId: string | undefined;
  readonly arrivedAt: number;
  /** When it began, by the same clock. */
  startedAt = 0;
  /** What it calls; a step that calls a tool is of the kind `tool`. */
  kind: CallKind;
  metadata: Readonly<JsonObject> = NO_METADATA;
  /** Why the call was cancelled. */
  aborted: Error | undefined;
  /** For what must end with the call and should not cost it a signal. */
  onAbort: ((reason: Error) => void) | undefined;
  /** The answer says this where the peer asked for warnings. */
  warnings: string[] | undefined;
  /** A tool is running, which applies the time limit itself and says more about it. */
  limitedByTool = false;
  /** A handler that still runs although its call was answered. The next call waits for it, with a limit. */
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

  /** A part of this call: it is aborted with the whole, which can outlive it. */
  child(): Call {
    const part = new Call(this.options, this.kind);
    part.metadata = this.metadata;
    this.onAbort = (reason) => part.abort(reason);
    if (this.aborted !== undefined) part.abort(this.aborted);
    return part;
  }

  /** Resolves with the answer, or when the caller's time is up with that of `late`; the call itself may still run. */
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
